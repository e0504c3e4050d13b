// Where things lie in the containers, and who may read what.
import { MYSQL_ADMIN_PORT, MYSQL_PORT } from "./plan.ts";

/** The mysql user of the official MySQL image; an agent shares its server's data directory and therefore its user. */
export const MYSQL_UID = 999;
/** The node user of the official Node.js image. */
export const NODE_UID = 1000;

/** Folder in which a container finds the files that were made for it alone. */
export const SECRETS_DIR = "/run/secrets";
/** The whole volume of those folders, as the set-up sees it. */
export const ALL_SECRETS_DIR = "/data";

export const DATA_DIR = "/var/lib/mysql";
export const TEMPLATE_DIR = "/template";
export const SCRIPTS_DIR = "/opt/striped-orders";
export const AGENT_DIR = "/var/lib/storage-agent";
export const CACHE_DIR = "/var/cache/striped-orders";

/** Folders of secrets, by the kind of process that reads them. */
export const READERS = {
  /** Statements for new data directories. */
  template: "template",
  proxy: "proxy",
  service: "service",
  ops: "ops",
  checker: "checker",
  /** Migrates and registers. */
  steps: "steps",
  demo: "demo",
  entry: "entry",
} as const;

/** File names inside such a folder. */
export const FILES = {
  agents: "agents.json",
  triples: "triples.json",
  agentToken: "agent-token",
  haproxy: "haproxy.cfg",
  cluster: "cluster.json",
  serverSql: "server.sql",
  controlSql: "control.sql",
  clusterId: "cluster-id",
} as const;

/** Of a MySQL server in a container: what differs from one beside others on a machine. */
export function serverPlace(name: string, serverId: number) {
  return {
    name,
    serverId,
    dataDir: DATA_DIR,
    address: name,
    port: MYSQL_PORT,
    adminPort: MYSQL_ADMIN_PORT,
    socket: "/var/run/mysqld/mysqld.sock",
    errorLog: null,
    // The administrative port needs one address: that of the container's own name.
    listen: { addresses: "*", admin: name },
  };
}
