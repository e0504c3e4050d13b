// Makes what the containers of a cluster find as files: secrets at the first start, configuration at every start. Each
// kind of process has a folder of its own in one volume and is given that folder alone.
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agentConfig, controlStatements, tripleAccountStatements } from "../agents-config.ts";
import { triplesConfig } from "../checkers.ts";
import { closingStatements } from "../db/control-accounts-sql.ts";
import { writeFileAtomically } from "../folder.ts";
import { entryConfig, haproxyConfig } from "../haproxy.ts";
import type { ClusterPlan, ClusterSize, StripePlan } from "../plan.ts";
import { type AccountName, type ClusterSecrets, loadOrMakeSecrets } from "../secrets.ts";
import { ANY_ADDRESS, containerPlan, HTTP_PORT } from "./plan.ts";
import { AGENT_DIR, ALL_SECRETS_DIR, DATA_DIR, FILES, MYSQL_UID, NODE_UID, READERS } from "./places.ts";
import type { StepsFile } from "./steps-file.ts";

const TOKEN_BYTES = 24;
const HAPROXY_SOCKET = "/tmp/haproxy.sock";
export const HAPROXY_ALIVE_PORT = 8404;

/** The image's own user, whoever that is, must be able to read a HAProxy's file; it holds no secret. */
const FOR_ALL = { uid: 0, mode: 0o444 };
const FOR_NODE = { uid: NODE_UID, mode: 0o400 };
const FOR_MYSQL = { uid: MYSQL_UID, mode: 0o400 };

interface Readable {
  readonly uid: number;
  readonly mode: number;
}

/** Writes everything for a cluster of this size; run again it keeps the secrets and brings the rest up to date. */
export async function setUpContainers(size: ClusterSize, project: string): Promise<void> {
  const own = join(ALL_SECRETS_DIR, "own");
  await mkdir(own, { recursive: true, mode: 0o700 });
  const folder = { dir: own, path: (...parts: string[]) => join(own, ...parts) };
  const secrets = await loadOrMakeSecrets(folder);
  const token = await loadOrMakeToken(folder.path(FILES.agentToken));
  const plan = containerPlan(size, secrets.clusterId, project);
  await Promise.all([
    writeTemplates(secrets),
    writePasswords(secrets),
    put(READERS.checker, FILES.agentToken, token, FOR_NODE),
    put(READERS.checker, FILES.triples, json(triplesConfig(plan)), FOR_NODE),
    put(READERS.steps, FILES.cluster, json(stepsFile(size, project, secrets)), FOR_NODE),
    put(READERS.demo, FILES.cluster, json({ ...stepsFile(size, project, secrets), token }), FOR_NODE),
    put(READERS.entry, FILES.haproxy, entryFile(plan), FOR_ALL),
    ...plan.stripes.flatMap((stripe) => writeStripe(stripe, secrets, token)),
  ]);
}

async function loadOrMakeToken(path: string): Promise<string> {
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found !== undefined) return found;
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  await writeFileAtomically(path, token, 0o600);
  return token;
}

async function writeTemplates(secrets: ClusterSecrets): Promise<void> {
  const closing = closingStatements(secrets.passwords.root);
  await put(READERS.template, FILES.serverSql, script([...tripleAccountStatements(secrets), ...closing]), FOR_MYSQL);
  await put(READERS.template, FILES.controlSql, script([...controlStatements(secrets), ...closing]), FOR_MYSQL);
}

/** Which kind of process is given which accounts' passwords. */
const PASSWORDS: readonly [reader: string, accounts: readonly AccountName[]][] = [
  [READERS.proxy, ["control"]],
  [READERS.service, ["app", "control"]],
  [READERS.ops, ["control"]],
  [READERS.checker, ["control"]],
];

async function writePasswords({ passwords }: ClusterSecrets): Promise<void> {
  for (const [reader, accounts] of PASSWORDS) {
    for (const account of accounts) await put(reader, account, passwords[account], FOR_NODE);
  }
}

function writeStripe(stripe: StripePlan, secrets: ClusterSecrets, apiToken: string): Promise<void>[] {
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
    return put(server.name, FILES.agents, json(config), FOR_MYSQL);
  });
  const servers = stripe.servers.map(({ name, address, port, agentHost, agentPort }) => {
    return { name, host: address, port, agentHost, agentPort };
  });
  const listen = { listenHost: "*", socket: HAPROXY_SOCKET, alivePort: HAPROXY_ALIVE_PORT };
  const { haproxyName, writerPort, readerPort } = stripe;
  const settings = { stripe: stripe.stripe, writerPort, readerPort, servers, ...listen };
  return [...agents, put(haproxyName, FILES.haproxy, haproxyConfig(settings), FOR_ALL)];
}

function entryFile(plan: ClusterPlan): string {
  const listen = { host: "*", port: HTTP_PORT, socket: HAPROXY_SOCKET, alivePort: HAPROXY_ALIVE_PORT };
  return entryConfig(
    listen,
    plan.proxies.map(({ name, port }) => ({ name, host: name, port })),
  );
}

function stepsFile(size: ClusterSize, project: string, { clusterId, passwords }: ClusterSecrets): StepsFile {
  const { migrate, app, control, viewer } = passwords;
  return { size, project, clusterId, passwords: { migrate, app, control, viewer } };
}

async function put(reader: string, name: string, content: string, readable: Readable): Promise<void> {
  const folder = join(ALL_SECRETS_DIR, reader);
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const path = join(folder, name);
  const aside = `${path}.new`;
  await rm(aside, { force: true });
  await writeFile(aside, content, { mode: 0o600 });
  await chown(aside, readable.uid, readable.uid);
  await chmod(aside, readable.mode);
  await rename(aside, path);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Statements as a file for the mysql client. */
function script(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};\n`).join("");
}
