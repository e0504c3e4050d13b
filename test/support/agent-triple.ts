// A real triple of its own for a test file: three mysqlds, each with a storage agent in a process of its own, so that
// an agent can crash without its server.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import mysql from "mysql2/promise";
import type { AgentState, CommandArgs, CommandDone, CommandName } from "../../core/agent-wire.ts";
import { copyDataDirectory } from "../../local-cluster/copy-data.ts";
import { makeDataDirectory } from "../../local-cluster/data-template.ts";
import { ClusterFolder } from "../../local-cluster/folder.ts";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { findOrInstallMysql } from "../../local-cluster/install/mysql.ts";
import { tripleServerOptions } from "../../local-cluster/mysqld.ts";
import { AgentClient } from "../../runtime/agent-client.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { AgentServerConfigInput } from "../../storage-agent/config.ts";
import { bootstrapStatements } from "../../storage-agent/db/bootstrap-sql.ts";

const LETTERS = ["a", "b", "c"] as const;
const NAMES = LETTERS.map((letter) => `s1${letter}`);
const PASSWORD = "only-for-this-test";
/** Name and password of an account on these servers. */
export function accountOf(user: string): { user: string; password: string } {
  return { user, password: PASSWORD };
}

export interface TestServer {
  readonly name: string;
  readonly config: AgentServerConfigInput;
  readonly client: AgentClient;
  agent: ChildProcess | null;
}

export interface AgentTripleOptions {
  /** Changes the config of every agent. */
  readonly configure?: (config: AgentServerConfigInput) => AgentServerConfigInput;
  /** Leave the servers as a new triple's: their agents run, nothing is initialised. */
  readonly pristine?: boolean;
}

export class AgentTriple implements AsyncDisposable {
  readonly folder: ClusterFolder;
  readonly templateDir: string;
  readonly servers: readonly TestServer[];
  #epoch = 0;
  readonly #atExit = (): void => this.#killEverything();

  private constructor(folder: ClusterFolder, templateDir: string, servers: readonly TestServer[]) {
    this.folder = folder;
    this.templateDir = templateDir;
    this.servers = servers;
    process.once("exit", this.#atExit);
  }

  /** Three servers, initialised and closed; nothing is open. */
  static async start(options: AgentTripleOptions = {}): Promise<AgentTriple> {
    const install = await findOrInstallMysql();
    const folder = await ClusterFolder.open(undefined, true);
    const statements = bootstrapStatements({
      agent: accountOf("agent"),
      watch: accountOf("watch"),
      replication: { userPrefix: "repl_", password: PASSWORD, letters: LETTERS },
      clone: accountOf("clone"),
      app: accountOf("app"),
      migrate: accountOf("migrate"),
      viewer: accountOf("viewer"),
    });
    const template = await makeDataDirectory(folder, install, "template", statements, PASSWORD);
    const places = await Promise.all(
      NAMES.map(async (name, i) => ({
        name,
        serverId: 101 + i,
        address: "127.0.0.1",
        port: await kernelPort(),
        adminPort: await kernelPort(),
        agentPort: await kernelPort(),
        dataDir: folder.path("mysql", name),
        socket: folder.socket(name),
        errorLog: null,
      })),
    );
    for (const { dataDir } of places) await copyDataDirectory(template, dataDir);
    const servers = places.map((place): TestServer => {
      const config: AgentServerConfigInput = {
        stripe: 1,
        tripleId: "t0001",
        name: place.name,
        host: "127.0.0.1",
        port: place.agentPort,
        mysql: { host: "127.0.0.1", port: place.port, adminHost: "127.0.0.1", adminPort: place.adminPort },
        dataDir: place.dataDir,
        stateFile: folder.path("agents", `${place.name}.json`),
        archiveDir: folder.path("agents", `${place.name}-archive`),
        supervise: {
          command: [...install.mysqld, ...tripleServerOptions(place)],
          logFile: folder.log(`mysqld-${place.name}`),
          pidFile: folder.pidFile(`mysqld-${place.name}`),
          templateDataDir: template,
        },
        accounts: {
          agent: accountOf("agent"),
          watch: accountOf("watch"),
          replication: { password: PASSWORD },
          clone: accountOf("clone"),
        },
        peers: places
          .filter((peer) => peer !== place)
          .map(({ name, address, port }) => ({ name, host: address, port })),
        mysqlbinlogCommand: [...install.mysqlbinlog],
      };
      const client = new AgentClient({ server: place.name, host: "127.0.0.1", port: place.agentPort });
      return { name: place.name, config: options.configure?.(config) ?? config, client, agent: null };
    });
    const triple = new AgentTriple(folder, template, servers);
    try {
      await triple.#initialise(options.pristine === true);
    } catch (error) {
      await triple[Symbol.asyncDispose]();
      throw error;
    }
    return triple;
  }

  async #initialise(pristine: boolean): Promise<void> {
    await Promise.all(NAMES.map((name) => this.startAgent(name)));
    await Promise.all(NAMES.map((name) => this.until(name, ({ role }) => role === "closed")));
    if (pristine) return;
    const epoch = this.nextEpoch();
    await Promise.all(NAMES.map((name) => this.done(name, "initialise", {}, epoch)));
  }

  server(name: string): TestServer {
    const found = this.servers.find((server) => server.name === name);
    if (found === undefined) throw new Error(`no server ${name}`);
    return found;
  }

  get epoch(): number {
    return this.#epoch;
  }

  nextEpoch(): number {
    this.#epoch += 1;
    return this.#epoch;
  }

  /** Sends a command that must be carried out; under the present epoch unless another is given. */
  async done<C extends CommandName>(
    name: string,
    command: C,
    args: CommandArgs<C>,
    epoch = this.#epoch,
  ): Promise<CommandDone> {
    const { client } = this.server(name);
    const { agentRunId } = await client.observe(5_000);
    const reply = await client.command(command, epoch, args, 60_000, agentRunId);
    if (!reply.ok) throw new Error(`${command} on ${name}: ${reply.code} ${reply.reason}`);
    return reply;
  }

  /** Sends a command that must be refused; returns `CODE: reason`. */
  async refused<C extends CommandName>(
    name: string,
    command: C,
    args: CommandArgs<C>,
    epoch = this.#epoch,
    deadlineMs = 30_000,
  ): Promise<string> {
    const reply = await this.server(name).client.command(command, epoch, args, deadlineMs);
    if (reply.ok) throw new Error(`${command} on ${name} was carried out`);
    return `${reply.code}: ${reply.reason}`;
  }

  /** Opens `source` with `followers` under a new epoch, everything revoked before. */
  async reign(source: string, followers: readonly string[], mode: "graceful" | "kill" = "graceful"): Promise<void> {
    this.nextEpoch();
    await Promise.all(NAMES.map((name) => this.done(name, "revoke", { mode })));
    await this.done(source, "apply", {});
    const { state } = await this.done(source, "prepare", { followers: [...followers] });
    await Promise.all(followers.map((name) => this.follow(name, state)));
    await this.done(source, "open", {});
  }

  /** Makes `name` follow the server whose state is given. */
  follow(name: string, source: AgentState, tenure = source.file?.openEpoch ?? 0): Promise<CommandDone> {
    if (source.mysql === null) throw new Error(`${source.server} is down`);
    const { serverUuid, executed } = source.mysql;
    return this.done(name, "follow", { source: source.server, sourceUuid: serverUuid, sourceSet: executed, tenure });
  }

  observe(name: string): Promise<AgentState> {
    return this.server(name).client.observe(5_000);
  }

  /** Observes until `wanted` holds. */
  async until(name: string, wanted: (state: AgentState) => boolean, timeoutMs = 30_000): Promise<AgentState> {
    const deadline = new Deadline(timeoutMs);
    for (;;) {
      const state = await this.observe(name).catch(() => null);
      if (state !== null && wanted(state)) return state;
      if (deadline.passed) throw new Error(`${name} did not get there: ${JSON.stringify(state)}`);
      await sleep(50);
    }
  }

  /** Status of a GET, as HAProxy sees it. */
  async get(name: string, path: "/writer" | "/reader"): Promise<number> {
    const { host, port } = this.server(name).config;
    return (await fetch(`http://${host}:${port}${path}`)).status;
  }

  /** Waits until the answer is `status`. */
  async untilGet(name: string, path: "/writer" | "/reader", status: number): Promise<void> {
    const deadline = new Deadline(10_000);
    while ((await this.get(name, path)) !== status) {
      if (deadline.passed) throw new Error(`${path} of ${name} is not ${status}`);
      await sleep(50);
    }
  }

  /** Connection to the ordinary port; `root` goes to the administrative one, over the socket. */
  connect(name: string, user: "app" | "migrate" | "viewer" | "root"): Promise<mysql.Connection> {
    const { host, port } = this.server(name).config.mysql;
    if (user === "root") return mysql.createConnection({ socketPath: this.folder.socket(name), ...accountOf("root") });
    return mysql.createConnection({ host, port, ...accountOf(user) });
  }

  /** Rows of one statement as `user`. */
  async query(name: string, user: Parameters<AgentTriple["connect"]>[1], sql: string): Promise<mysql.RowDataPacket[]> {
    const connection = await this.connect(name, user);
    try {
      const [rows] = await connection.query<mysql.RowDataPacket[]>(sql);
      return rows;
    } finally {
      connection.destroy();
    }
  }

  async startAgent(name: string): Promise<void> {
    const server = this.server(name);
    const file = this.folder.path("agents", `${name}-config.json`);
    await writeFile(file, JSON.stringify({ servers: [server.config] }));
    const log = openSync(this.folder.log(`agent-${name}`), "a");
    const agent = spawn(process.execPath, [join(import.meta.dirname, "../../storage-agent/main.ts")], {
      env: { ...process.env, AGENTS_CONFIG: file, FAULT_POINTS: "1" },
      stdio: ["ignore", log, log],
    });
    server.agent = agent;
    const deadline = new Deadline(20_000);
    while (await server.client.observe(2_000).then(...falseThenTrue)) {
      if (deadline.passed || agent.exitCode !== null) throw new Error(`agent of ${name}: ${this.agentLog(name)}`);
      await sleep(30);
    }
  }

  /** kill -9 of the agent alone. */
  async killAgent(name: string): Promise<void> {
    const { agent } = this.server(name);
    if (agent === null || agent.exitCode !== null || agent.signalCode !== null) return;
    const gone = once(agent, "exit");
    agent.kill("SIGKILL");
    await gone;
  }

  agentLog(name: string): string {
    return readFileSync(this.folder.log(`agent-${name}`), "utf8").slice(-3_000);
  }

  /** Pid of the mysqld that the pid file names. */
  mysqldPid(name: string): number {
    const text = readFileSync(this.folder.pidFile(`mysqld-${name}`), "utf8");
    return (JSON.parse(text) as { pid: number }).pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of this.servers) await this.killAgent(name);
    this.#killEverything();
    process.off("exit", this.#atExit);
    for (const { client } of this.servers) await client.close();
    await this.folder.close();
  }

  #killEverything(): void {
    for (const server of this.servers) {
      server.agent?.kill("SIGKILL");
      try {
        process.kill(this.mysqldPid(server.name), "SIGKILL");
      } catch {
        // it has ended already, or never began
      }
    }
  }
}

const falseThenTrue = [(): boolean => false, (): boolean => true] as const;
