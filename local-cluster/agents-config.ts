import type { AgentServerConfigInput, AgentsConfigInput } from "../storage-agent/config.ts";
import { bootstrapStatements } from "../storage-agent/db/bootstrap-sql.ts";
import { controlAccountStatements } from "./db/control-accounts-sql.ts";
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

/** Statements that give the control database its accounts. */
export function controlStatements(secrets: ClusterSecrets): string[] {
  return controlAccountStatements({
    control: account(secrets, "control"),
    migrate: account(secrets, "migrate"),
    viewer: account(secrets, "viewer"),
  });
}

/** The port at which its peers meet a server: its own, or that of something in between. */
export type PeerPort = (server: ServerPlan) => number;

/** Where an agent finds its server and keeps what is its own. */
export type AgentPlaces = Pick<
  AgentServerConfigInput,
  "dataDir" | "stateFile" | "archiveDir" | "supervise" | "bindAddress" | "mysqlbinlogCommand" | "apiToken"
> & { readonly listenHost: string; readonly socket: string | null };

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
      const places = { ...supervisedPlaces(folder, mysql, server, templateDataDir), listenHost: plan.listenHost };
      return agentConfig(stripe, server, secrets, places, peerPort);
    }),
  );
  return { servers };
}

function supervisedPlaces(
  folder: ClusterFolder,
  mysql: MysqlInstall,
  server: ServerPlan,
  templateDataDir: string,
): Omit<AgentPlaces, "listenHost"> {
  const { name, address } = server;
  const dataDir = folder.path("mysql", name);
  const socket = folder.socket(name);
  return {
    dataDir,
    socket,
    stateFile: folder.path("agents", `${name}.json`),
    archiveDir: folder.path("agents", `${name}-archive`),
    supervise: {
      command: [...mysql.mysqld, ...tripleServerOptions({ ...server, dataDir, socket, errorLog: null })],
      logFile: folder.log(`mysqld-${name}`),
      pidFile: folder.pidFile(`mysqld-${name}`),
      templateDataDir,
    },
    bindAddress: address === "127.0.0.1" ? null : address,
    mysqlbinlogCommand: [...mysql.mysqlbinlog],
  };
}

/** What one agent is told. */
export function agentConfig(
  stripe: StripePlan,
  server: ServerPlan,
  secrets: ClusterSecrets,
  { listenHost, socket, ...places }: AgentPlaces,
  peerPort: PeerPort = ({ port }) => port,
): AgentServerConfigInput {
  const { name, address, port, adminHost, adminPort } = server;
  const peers = stripe.servers.filter((peer) => peer.name !== name);
  return {
    stripe: stripe.stripe,
    tripleId: stripe.tripleId,
    name,
    host: listenHost,
    port: server.agentPort,
    mysql: { host: address, port, adminHost, adminPort, socket },
    ...places,
    accounts: {
      agent: account(secrets, "agent"),
      watch: account(secrets, "watch"),
      replication: { userPrefix: REPLICATION_PREFIX, password: secrets.passwords.replication },
      clone: account(secrets, "clone"),
    },
    peers: peers.map((peer) => ({ name: peer.name, host: peer.address, port: peerPort(peer) })),
  };
}
