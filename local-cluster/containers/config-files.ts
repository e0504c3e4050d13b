// What every container of a cluster finds as files, by the kind of process that reads them. Pure: the set-up writes them,
// and the compose file names a digest of them.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { agentConfig, controlStatements, tripleAccountStatements } from "../agents-config.ts";
import { triplesConfig } from "../checkers.ts";
import { closingStatements } from "../db/control-accounts-sql.ts";
import { entryConfig, haproxyConfig } from "../haproxy.ts";
import type { ClusterPlan, StripePlan } from "../plan.ts";
import type { AccountName, ClusterSecrets } from "../secrets.ts";
import { AGENT_DIR, DATA_DIR, FILES, MYSQL_UID, NODE_UID, READERS } from "./places.ts";
import { ANY_ADDRESS, type ContainerSize, HTTP_PORT } from "./plan.ts";
import type { StepsFile } from "./steps-file.ts";

const HAPROXY_SOCKET = "/tmp/haproxy.sock";
export const HAPROXY_ALIVE_PORT = 8404;
const DIGEST_CHARS = 12;

/** The image's own user, whoever that is, must be able to read a HAProxy's file; it holds no secret. */
const FOR_ALL = { uid: 0, mode: 0o444 };
const FOR_NODE = { uid: NODE_UID, mode: 0o400 };
const FOR_MYSQL = { uid: MYSQL_UID, mode: 0o400 };

export interface ConfigFile {
  /** Kind of process, or name of a server or HAProxy: its folder in the volume. */
  readonly reader: string;
  readonly name: string;
  readonly content: string;
  readonly readable: { readonly uid: number; readonly mode: number };
}

/** @param token with which the checkers speak to the agents */
export function configFiles(
  plan: ClusterPlan,
  size: ContainerSize,
  secrets: ClusterSecrets,
  token: string,
): ConfigFile[] {
  const steps = stepsFile(size, secrets);
  return [
    ...templateFiles(secrets),
    ...passwordFiles(secrets),
    file(READERS.checker, FILES.agentToken, token, FOR_NODE),
    file(READERS.checker, FILES.triples, json(triplesConfig(plan)), FOR_NODE),
    file(READERS.steps, FILES.cluster, json(steps), FOR_NODE),
    file(READERS.demo, FILES.cluster, json({ ...steps, token }), FOR_NODE),
    file(READERS.entry, FILES.haproxy, entryFile(plan), FOR_ALL),
    ...plan.stripes.flatMap((stripe) => stripeFiles(stripe, secrets, token)),
  ];
}

/** Of everything that one reader is told: another one means that its container has to start anew. */
export function digestOf(files: readonly ConfigFile[], reader: string): string {
  const own = files.filter((candidate) => candidate.reader === reader);
  if (own.length === 0) throw new Error(`no file is made for ${reader}`);
  const told = JSON.stringify(own.map(({ name, content }) => [name, content]));
  return createHash("sha256").update(told).digest("hex").slice(0, DIGEST_CHARS);
}

function templateFiles(secrets: ClusterSecrets): ConfigFile[] {
  const closing = closingStatements(secrets.passwords.root);
  return [
    file(READERS.template, FILES.serverSql, script([...tripleAccountStatements(secrets), ...closing]), FOR_MYSQL),
    file(READERS.template, FILES.clusterId, `${secrets.clusterId}\n`, FOR_MYSQL),
    file(READERS.template, FILES.controlSql, script([...controlStatements(secrets), ...closing]), FOR_MYSQL),
  ];
}

/** Which kind of process is given which accounts' passwords. */
const PASSWORDS: readonly [reader: string, accounts: readonly AccountName[]][] = [
  [READERS.proxy, ["control"]],
  [READERS.service, ["app", "control"]],
  [READERS.ops, ["control"]],
  [READERS.checker, ["control"]],
];

function passwordFiles({ passwords }: ClusterSecrets): ConfigFile[] {
  return PASSWORDS.flatMap(([reader, accounts]) =>
    accounts.map((account) => file(reader, account, passwords[account], FOR_NODE)),
  );
}

function stripeFiles(stripe: StripePlan, secrets: ClusterSecrets, apiToken: string): ConfigFile[] {
  const agents = stripe.servers.map((server) => {
    const places = {
      listenHost: ANY_ADDRESS,
      socket: null,
      dataDir: DATA_DIR,
      stateFile: join(AGENT_DIR, "state.json"),
      archiveDir: join(AGENT_DIR, "archive"),
      supervise: null,
      bindAddress: null,
      mysqlbinlogCommand: null,
      apiToken,
    };
    const config = { servers: [agentConfig(stripe, server, secrets, places)] };
    return file(server.name, FILES.agents, json(config), FOR_MYSQL);
  });
  const servers = stripe.servers.map(({ name, address, port, agentHost, agentPort }) => {
    return { name, host: address, port, agentHost, agentPort };
  });
  const listen = { listenHost: "*", socket: HAPROXY_SOCKET, alivePort: HAPROXY_ALIVE_PORT };
  const { haproxyName, writerPort, readerPort } = stripe;
  const settings = { stripe: stripe.stripe, writerPort, readerPort, servers, ...listen };
  return [...agents, file(haproxyName, FILES.haproxy, haproxyConfig(settings), FOR_ALL)];
}

function entryFile(plan: ClusterPlan): string {
  const listen = { host: "*", port: HTTP_PORT, socket: HAPROXY_SOCKET, alivePort: HAPROXY_ALIVE_PORT };
  return entryConfig(
    listen,
    plan.proxies.map(({ name, port }) => ({ name, host: name, port })),
  );
}

function stepsFile(size: ContainerSize, { clusterId, passwords }: ClusterSecrets): StepsFile {
  const { migrate, app, control, viewer } = passwords;
  return { size, clusterId, passwords: { migrate, app, control, viewer } };
}

function file(reader: string, name: string, content: string, readable: ConfigFile["readable"]): ConfigFile {
  return { reader, name, content, readable };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Statements as a file for the mysql client. */
function script(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};\n`).join("");
}
