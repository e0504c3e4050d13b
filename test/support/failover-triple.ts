// A real triple with everything that leads it: agents, a control database, HAProxy, and one or more health checkers in
// processes of their own. Each agent is also reachable through a relay, so that a controller can be cut off from it.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import mysql from "mysql2/promise";
import type { AgentState } from "../../core/agent-wire.ts";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { haproxyConfig } from "../../local-cluster/haproxy.ts";
import { findOrInstallHaproxy } from "../../local-cluster/install/haproxy.ts";
import { type ScratchServer, startScratchServer } from "../../local-cluster/scratch-server.ts";
import { CONTROL_SCHEMA, migrateControl } from "../../migrations/migrate.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { TriplesConfigInput } from "../../health-checker/config.ts";
import { requestSwitchover } from "../../health-checker/db/switchover-requests.ts";
import { accountOf, AgentTriple, type AgentTripleOptions } from "./agent-triple.ts";
import { TcpRelay } from "./tcp-relay.ts";

const TRIPLE_ID = "t0001";
export const TABLE = "stripe_0001_p1.ledger";

/** One row of the ledger, with the name that the server which takes it gives itself. */
export function ledgerInsert(id: number, writer = 0): string {
  return `INSERT INTO ${TABLE} VALUES (${id}, ${writer}, @@server_uuid)`;
}
const POLL_MS = 25;
const ENDED_TIMEOUT_MS = 40_000;

export interface RecordRow {
  readonly epoch: number;
  readonly phase: string;
  readonly src: string;
  readonly tenure: number;
  readonly ack_set: readonly string[];
  readonly owner: string;
  readonly victim: string | null;
  readonly version: number;
}

export interface RecoveryRow {
  readonly recovery_id: string;
  readonly kind: string;
  readonly problem: string;
  readonly outcome: string | null;
  readonly src_before: string;
  readonly src_after: string | null;
  readonly victim: string | null;
  readonly detail: string | null;
}

interface TriplesAnswer {
  readonly triples: readonly { readonly leads: boolean; readonly problems: readonly { readonly code: string }[] }[];
}

export interface Controller {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
}

export interface FailoverTripleOptions extends AgentTripleOptions {
  /** Where HAProxy meets a server: its own port, or something in between. */
  readonly clientPort?: (name: string, port: number) => number;
}

export class FailoverTriple implements AsyncDisposable {
  readonly agents: AgentTriple;
  readonly relays: ReadonlyMap<string, TcpRelay>;
  readonly writerPort: number;
  readonly readerPort: number;
  readonly controllers = new Map<string, Controller>();
  readonly #control: ScratchServer;
  readonly #haproxy: ChildProcess;
  readonly #db: mysql.Pool;
  readonly #hidden = new Map<string, number>();
  #nextId = 1;
  /** Ids of the ledger are never used twice in a triple. */
  readonly nextLedgerId = (): number => this.#nextId++;
  readonly #atExit = (): void => {
    for (const { child } of this.controllers.values()) child.kill("SIGKILL");
    this.#haproxy.kill("SIGKILL");
  };

  /** Ends with it: what a failed test has left on would keep its process. */
  readonly loads = new Set<{ giveUp(): void }>();

  private constructor(parts: {
    agents: AgentTriple;
    relays: ReadonlyMap<string, TcpRelay>;
    control: ScratchServer;
    haproxy: ChildProcess;
    writerPort: number;
    readerPort: number;
  }) {
    this.agents = parts.agents;
    this.relays = parts.relays;
    this.writerPort = parts.writerPort;
    this.readerPort = parts.readerPort;
    this.#control = parts.control;
    this.#haproxy = parts.haproxy;
    this.#db = mysql.createPool({ ...parts.control.target, database: CONTROL_SCHEMA, connectionLimit: 2 });
    process.once("exit", this.#atExit);
  }

  /** New servers without a history; no controller runs yet. */
  static async start(options: FailoverTripleOptions = {}): Promise<FailoverTriple> {
    await using cleanup = new AsyncDisposableStack();
    const control = cleanup.use(await startScratchServer());
    await migrateControl(control.target);
    const agents = cleanup.use(await AgentTriple.start({ ...options, pristine: true }));
    const relays = new Map<string, TcpRelay>();
    for (const { name, config } of agents.servers) {
      relays.set(name, cleanup.use(await TcpRelay.start({ host: config.host, port: config.port })));
    }
    const [writerPort, readerPort] = [await kernelPort(), await kernelPort()];
    const haproxy = await startHaproxy(agents, writerPort, readerPort, options.clientPort);
    cleanup.move();
    return new FailoverTriple({ agents, relays, control, haproxy, writerPort, readerPort });
  }

  /** As `start`, led by one controller, open, whole, with an empty ledger. */
  static async whole(options: FailoverTripleOptions = {}): Promise<FailoverTriple> {
    const triple = await FailoverTriple.start(options);
    try {
      await triple.startController("hc1");
      await triple.untilWhole();
      const source = await triple.source();
      await triple.agents.query(source, "migrate", "CREATE DATABASE stripe_0001_p1");
      await triple.agents.query(
        source,
        "migrate",
        `CREATE TABLE ${TABLE} (id BIGINT PRIMARY KEY, writer INT NOT NULL, server CHAR(36) NOT NULL)`,
      );
      return triple;
    } catch (error) {
      await triple[Symbol.asyncDispose]();
      throw error;
    }
  }

  async startController(name: string, env: Readonly<Record<string, string>> = {}): Promise<Controller> {
    const port = await kernelPort();
    const { target } = this.#control;
    const file = this.agents.folder.path(`triples-${name}.json`);
    const config: TriplesConfigInput = {
      triples: [
        {
          tripleId: TRIPLE_ID,
          stripe: 1,
          servers: this.agents.servers.map((server) => ({
            name: server.name,
            agentUrl: `http://127.0.0.1:${this.relays.get(server.name)?.port ?? 0}`,
            mysql: { host: server.config.mysql.host, port: server.config.mysql.port },
          })),
        },
      ],
    };
    await writeFile(file, JSON.stringify(config));
    const log = openSync(this.agents.folder.log(`controller-${name}`), "a");
    const child = spawn(process.execPath, [join(import.meta.dirname, "../../health-checker/main.ts")], {
      stdio: ["ignore", log, log],
      env: {
        ...process.env,
        HOST: "127.0.0.1",
        PORT: String(port),
        INSTANCE: name,
        CONTROL_DB_HOST: target.host,
        CONTROL_DB_PORT: String(target.port),
        CONTROL_DB_USER: target.user,
        CONTROL_DB_PASSWORD: target.password,
        CONTROL_DB_NAME: CONTROL_SCHEMA,
        TRIPLES_CONFIG: file,
        FAULT_POINTS: "1",
        ...env,
      },
    });
    const controller = { name, url: `http://127.0.0.1:${port}`, child };
    this.controllers.set(name, controller);
    await this.until(`controller ${name} answers`, async () => (await get(`${controller.url}/healthz`)) !== null);
    return controller;
  }

  controller(name: string): Controller {
    const found = this.controllers.get(name);
    if (found === undefined) throw new Error(`no controller ${name}`);
    return found;
  }

  /** kill -9 by default. */
  async stopController(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const { child } = this.controller(name);
    this.controllers.delete(name);
    await this.ended(child, signal);
  }

  async ended(child: ChildProcess, signal?: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit", { signal: AbortSignal.timeout(ENDED_TIMEOUT_MS) });
    if (signal !== undefined) child.kill(signal);
    await gone;
  }

  /** Arms a fault point of a controller, such as `cas.PROMOTE:before`. */
  async fault(controller: string, point: string, mode: "crash" | "hold" | "fail" | "off"): Promise<void> {
    const response = await fetch(`${this.controller(controller).url}/faults`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ point, mode }),
    });
    if (response.status !== 200) throw new Error(`fault point ${point}: ${response.status}`);
  }

  /** User and password on the servers of the triple. */
  account(user: "app" | "migrate" | "viewer"): { user: string; password: string } {
    return accountOf(user);
  }

  /** Waits until a controller has come to a fault point. */
  async untilReached(controller: string, point: string, times = 1): Promise<void> {
    const { url } = this.controller(controller);
    await this.until(`${controller} reaches ${point}`, async () => {
      const answer = (await get(`${url}/faults`)) as { reached: Record<string, number> } | null;
      return (answer?.reached[point] ?? 0) >= times;
    });
  }

  async record(): Promise<RecordRow | null> {
    const [rows] = await this.#db.query<(RecordRow & mysql.RowDataPacket)[]>("SELECT * FROM triples");
    return rows[0] ?? null;
  }

  async source(): Promise<string> {
    const record = await this.record();
    if (record === null) throw new Error("there is no record");
    return record.src;
  }

  async replicas(): Promise<[string, string]> {
    const source = await this.source();
    const [first = "", second = ""] = this.agents.servers.map(({ name }) => name).filter((name) => name !== source);
    return [first, second];
  }

  /** Name of the controller that leads. */
  async leader(): Promise<string> {
    return (await this.record())?.owner.split("/")[0] ?? "";
  }

  /** Recoveries in their order. */
  async recoveries(): Promise<RecoveryRow[]> {
    const [rows] = await this.#db.query<(RecoveryRow & mysql.RowDataPacket)[]>(
      "SELECT * FROM recoveries ORDER BY start_time, epoch",
    );
    return rows;
  }

  /** Recoveries that change or may change the source. */
  async leads(): Promise<RecoveryRow[]> {
    return (await this.recoveries()).filter(({ kind }) => kind === "LEAD" || kind === "SWITCHOVER");
  }

  control(sql: string, values: unknown[] = []): Promise<unknown> {
    return this.#db.query(sql, values);
  }

  async requestSwitchover(target: string | null, validMs: number): Promise<string> {
    const requestId = randomUUID();
    const connection = await this.#db.getConnection();
    try {
      await requestSwitchover(connection, { requestId, tripleId: TRIPLE_ID, target, requestedBy: "test", validMs });
    } finally {
      connection.release();
    }
    return requestId;
  }

  async switchoverRow(requestId: string): Promise<{ readonly state: string; readonly detail: string | null }> {
    const [rows] = await this.#db.query<({ state: string; detail: string | null } & mysql.RowDataPacket)[]>(
      "SELECT state, detail FROM switchover_requests WHERE request_id = ?",
      [requestId],
    );
    if (rows[0] === undefined) throw new Error(`no switchover request ${requestId}`);
    return rows[0];
  }

  get controlServer(): ScratchServer {
    return this.#control;
  }

  /** Open source, both others receive from it, the record is idle and holds exactly them, nobody has a problem. */
  async isWhole(): Promise<boolean> {
    const record = await this.record();
    if (record?.phase !== "IDLE" || record.ack_set.length !== 2 || record.ack_set.includes(record.src)) return false;
    const states = await Promise.all(
      this.agents.servers.map(({ name }) => this.agents.observe(name).catch(() => null)),
    );
    const source = states.find((state) => state?.server === record.src);
    if (source?.role !== "open" || source.beat?.hangs !== false || source.beat.written === 0) return false;
    return states.every((state) => state === source || follows(state, source));
  }

  /** @param timeoutMs the product promises a minute */
  untilWhole(timeoutMs = 60_000): Promise<void> {
    return this.until("the triple is whole", () => this.isWhole(), timeoutMs);
  }

  /** @throws Error with the state of everything when it does not become true in time */
  async until(what: string, condition: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
    const deadline = new Deadline(timeoutMs);
    while (!(await condition())) {
      if (deadline.passed) throw new Error(`not in ${timeoutMs} ms: ${what}\n${await this.describe()}`);
      await sleep(POLL_MS);
    }
  }

  async describe(): Promise<string> {
    const lines = [JSON.stringify(await this.record().catch(String))];
    for (const { name } of this.agents.servers) {
      const state = await this.agents.observe(name).catch(() => null);
      const { beat = null, role = null, data = null, mysql = null, file = null, busy = null } = state ?? {};
      const { executed, retrieved, receiver, unlockedAccounts, waitSessions } = mysql ?? {};
      const brief = { executed, retrieved, io: receiver?.io, receiving: receiver?.receiving, waitSessions };
      lines.push(`${name} ${JSON.stringify({ role, data, beat, busy, file, unlockedAccounts, ...brief })}`);
    }
    lines.push(JSON.stringify(await this.recoveries().catch(String)));
    for (const { name } of this.controllers.values()) lines.push(`--- ${name}`, this.controllerLog(name).slice(-4_000));
    return lines.join("\n");
  }

  controllerLog(name: string): string {
    return readFileSync(this.agents.folder.log(`controller-${name}`), "utf8");
  }

  signalMysqld(name: string, signal: NodeJS.Signals): void {
    process.kill(this.agents.mysqldPid(name), signal);
  }

  /** A machine goes away: the agent and its mysqld, at once. */
  async takeDown(name: string): Promise<void> {
    const pid = this.agents.mysqldPid(name);
    this.agents.server(name).agent?.kill("SIGKILL");
    process.kill(pid, "SIGKILL");
    await this.agents.killAgent(name);
  }

  /** It is back; its agent starts mysqld, closed. */
  bringUp(name: string): Promise<void> {
    return this.agents.startAgent(name);
  }

  /** Its disk is lost, the agent's file included; it must be down. */
  async wipe(name: string): Promise<void> {
    const { dataDir, stateFile } = this.agents.server(name).config;
    await rm(dataDir, { recursive: true, force: true });
    await rm(stateFile, { force: true });
  }

  /** Cuts the controllers off from an agent. */
  async hide(name: string): Promise<void> {
    const relay = this.relays.get(name);
    if (relay !== undefined) this.#hidden.set(name, await relay.die());
  }

  async show(name: string): Promise<void> {
    const port = this.#hidden.get(name);
    this.#hidden.delete(name);
    if (port !== undefined) await this.relays.get(name)?.listen(port);
  }

  /** Whatever a test has left behind, even one that failed: everything runs and can be reached, no fault is armed. */
  async heal(): Promise<void> {
    ignoreGone(() => process.kill(this.#control.pid, "SIGCONT"));
    for (const name of this.#hidden.keys()) await this.show(name);
    for (const { name, agent } of this.agents.servers) {
      ignoreGone(() => this.signalMysqld(name, "SIGCONT"));
      if (agent === null || agent.exitCode !== null || agent.signalCode !== null) await this.bringUp(name);
    }
    for (const name of this.controllers.keys()) await this.stopController(name);
    await this.startController("hc1");
    await this.until("hc1 leads", async () => (await this.leading()) === "hc1");
  }

  /** Name of the controller that says of itself that it leads. */
  async leading(): Promise<string | null> {
    for (const { name, url } of this.controllers.values()) {
      const answer = (await get(`${url}/triples`)) as TriplesAnswer | null;
      if (answer?.triples[0]?.leads === true) return name;
    }
    return null;
  }

  /** SIGCONT to a process that may have been ended meanwhile. */
  wake(pid: number): void {
    ignoreGone(() => process.kill(pid, "SIGCONT"));
  }

  /** Codes of the problems that the leading controller sees now. */
  async problems(): Promise<string[]> {
    for (const { url } of this.controllers.values()) {
      const answer = (await get(`${url}/triples`)) as TriplesAnswer | null;
      const triple = answer?.triples[0];
      if (triple?.leads === true) return triple.problems.map(({ code }) => code);
    }
    return [];
  }

  /** As `problems`, of a controller that may not lead. */
  async problemsOf(controller: string): Promise<string[]> {
    const answer = (await get(`${this.controller(controller).url}/triples`)) as TriplesAnswer | null;
    return answer?.triples[0]?.problems.map(({ code }) => code) ?? [];
  }

  untilProblem(code: string): Promise<void> {
    return this.until(`the controller sees ${code}`, async () => (await this.problems()).includes(code));
  }

  /** Ids of the ledger, as a server has them. @param from the lowest of interest */
  async ledger(server: string, from = Number.MIN_SAFE_INTEGER): Promise<Set<number>> {
    const rows = await this.agents.query(server, "viewer", `SELECT id FROM ${TABLE} WHERE id >= ${from}`);
    return new Set(rows.map((row) => Number(row["id"])));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#atExit);
    for (const load of this.loads) load.giveUp();
    for (const { child } of this.controllers.values()) {
      child.kill("SIGCONT");
      await this.ended(child, "SIGKILL");
    }
    await this.ended(this.#haproxy, "SIGKILL");
    await this.#db.end();
    for (const relay of this.relays.values()) await relay[Symbol.asyncDispose]();
    for (const { name } of this.agents.servers) ignoreGone(() => this.signalMysqld(name, "SIGCONT"));
    await this.agents[Symbol.asyncDispose]();
    await this.#control[Symbol.asyncDispose]();
  }
}

function follows(state: AgentState | null, source: AgentState): boolean {
  const receiver = state?.mysql?.receiver;
  return receiver?.receiving === true && receiver.applierRunning && receiver.sourceUuid === source.mysql?.serverUuid;
}

function ignoreGone(act: () => void): void {
  try {
    act();
  } catch {
    // the process has ended already
  }
}

async function get(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    return await response.json();
  } catch {
    return null;
  }
}

async function startHaproxy(
  agents: AgentTriple,
  writerPort: number,
  readerPort: number,
  clientPort: FailoverTripleOptions["clientPort"],
): Promise<ChildProcess> {
  const program = await findOrInstallHaproxy({ tell: () => {}, signal: new AbortController().signal });
  const file = agents.folder.path("haproxy", "test.cfg");
  const servers = agents.servers.map(({ name, config }) => {
    const { host, port } = config.mysql;
    return { name, host, port: clientPort?.(name, port) ?? port, agentPort: config.port };
  });
  await writeFile(
    file,
    haproxyConfig({ stripe: 1, writerPort, readerPort, socket: agents.folder.socket("ha"), servers }),
  );
  const log = openSync(agents.folder.log("haproxy"), "a");
  return spawn(program, ["-db", "-f", file], { stdio: ["ignore", log, log] });
}
