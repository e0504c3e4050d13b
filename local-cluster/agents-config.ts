import type { AgentServerConfigInput, AgentsConfigInput } from "../storage-agent/config.ts";
import { bootstrapStatements } from "../storage-agent/db/bootstrap-sql.ts";
import type { ClusterFolder } from "./folder.ts";
import type { MysqlInstall } from "./install/mysql-install.ts";
import { tripleServerOptions } from "./mysqld.ts";
import { type ClusterPlan, SERVER_LETTERS, type ServerPlan, type StripePlan } from "./plan.ts";
import type { ClusterSecrets } from "./secrets.ts";

const REPLICATION_PREFIX = "repl_";

/** Who is who on the servers of the triples; user names equal the names of their passwords. */
function account(secrets: ClusterSecrets, name: keyof ClusterSecrets["passwords"]): { user: string; password: string } {
  return { user: name, password: secrets.passwords[name] };
}

/** Statements that give the servers of the triples their accounts. */
export function tripleAccountStatements(secrets: ClusterSecrets): string[] {
  return bootstrapStatements({
    agent: account(secrets, "agent"),
    watch: account(secrets, "watch"),
    clone: account(secrets, "clone"),
    app: account(secrets, "app"),
    migrate: account(secrets, "migrate"),
    viewer: account(secrets, "viewer"),
    replication: {
      userPrefix: REPLICATION_PREFIX,
      password: secrets.passwords.replication,
      letters: SERVER_LETTERS,
    },
  });
}

/** The port at which its peers meet a server: its own, or that of something in between. */
export type PeerPort = (server: ServerPlan) => number;

/** The file that the agents' process reads: one process hosts the agents of every server of the cluster. */
export function agentsConfig(
  folder: ClusterFolder,
  mysql: MysqlInstall,
  plan: ClusterPlan,
  secrets: ClusterSecrets,
  templateDataDir: string,
  peerPort: PeerPort = ({ port }) => port,
): AgentsConfigInput {
  const servers = plan.stripes.flatMap((stripe) =>
    stripe.servers.map((server) => {
      const config = agentConfig(folder, mysql, stripe, server, secrets, templateDataDir);
      const peers = stripe.servers.filter((peer) => peer !== server);
      return { ...config, peers: peers.map((peer) => ({ name: peer.name, host: peer.address, port: peerPort(peer) })) };
    }),
  );
  return { servers };
}

function agentConfig(
  folder: ClusterFolder,
  mysql: MysqlInstall,
  stripe: StripePlan,
  server: ServerPlan,
  secrets: ClusterSecrets,
  templateDataDir: string,
): Omit<AgentServerConfigInput, "peers"> {
  const { name, address, port, adminPort } = server;
  const dataDir = folder.path("mysql", name);
  const socket = folder.socket(name);
  return {
    stripe: stripe.stripe,
    tripleId: stripe.tripleId,
    name,
    host: "127.0.0.1",
    port: server.agentPort,
    mysql: { host: address, port, adminHost: "127.0.0.1", adminPort, socket },
    dataDir,
    stateFile: folder.path("agents", `${name}.json`),
    archiveDir: folder.path("agents", `${name}-archive`),
    supervise: {
      command: [...mysql.mysqld, ...tripleServerOptions({ ...server, dataDir, socket, errorLog: null })],
      logFile: folder.log(`mysqld-${name}`),
      pidFile: folder.pidFile(`mysqld-${name}`),
      templateDataDir,
    },
    bindAddress: address === "127.0.0.1" ? null : address,
    accounts: {
      agent: account(secrets, "agent"),
      watch: account(secrets, "watch"),
      replication: { userPrefix: REPLICATION_PREFIX, password: secrets.passwords.replication },
      clone: account(secrets, "clone"),
    },
    mysqlbinlogCommand: [...mysql.mysqlbinlog],
  };
}
