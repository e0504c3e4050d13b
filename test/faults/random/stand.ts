// What the random rounds are played on: one triple behind links, two health checkers, two instances of its stripe
// service and a proxy, each a process of its own. It lives through all rounds.
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { kernelPort } from "../../../local-cluster/free-port.ts";
import { CONTROL_SCHEMA, migrateStripe } from "../../../migrations/migrate.ts";
import { setUpStripes } from "../../../ops/set-up-stripes.ts";
import { monotonicMs } from "../../../runtime/clock.ts";
import { childEnv } from "../../../runtime/env.ts";
import type { FailoverTriple } from "../../support/failover-triple.ts";
import { NAMES, startLinkedTriple } from "../../support/linked-triple.ts";
import { ReplicationLink, type ReplicationLinks } from "../../support/replication-link.ts";

export const CHECKERS = ["hc1", "hc2"] as const;
const STRIPE = 1;
const PLACE = 1;
const SERVICES = 2;
/** What agents and checkers tell may be so old. */
const SETTLED_FOR_MS = 600;
const PROJECT = join(import.meta.dirname, "../../..");
/** Outages here last seconds: what is avoided is tried again soon. */
const QUICK_PROXY = { MASK_MS: "200", INSTANCE_AVOID_MS: "200", READMIT_WAIT_MAX_MS: "0" };

export class FaultStand implements AsyncDisposable {
  readonly triple: FailoverTriple;
  readonly links: ReplicationLinks;
  /** Between HAProxy and each server. */
  readonly clientLinks: ReadonlyMap<string, ReplicationLink>;
  readonly proxyUrl: string;
  /** Rows of the ledger acknowledged in all rounds so far. */
  readonly acked = new Set<number>();
  readonly #stop: AsyncDisposableStack;
  /** Stopped mysqlds, to be woken however the servers were restarted meanwhile. */
  readonly #stopped = new Set<number>();
  readonly #starting = new Map<string, Promise<void>>();
  readonly #hidden = new Set<string>();
  readonly #faults = new Set<string>();

  private constructor(
    parts: Pick<FaultStand, "triple" | "links" | "clientLinks" | "proxyUrl">,
    stop: AsyncDisposableStack,
  ) {
    this.triple = parts.triple;
    this.links = parts.links;
    this.clientLinks = parts.clientLinks;
    this.proxyUrl = parts.proxyUrl;
    this.#stop = stop;
  }

  static async start(): Promise<FaultStand> {
    await using stop = new AsyncDisposableStack();
    const clientLinks = new Map<string, ReplicationLink>();
    for (const name of NAMES) clientLinks.set(name, stop.use(await ReplicationLink.start()));
    const clientPort = (name: string, port: number): number => {
      const link = clientLinks.get(name);
      if (link === undefined) throw new Error(`no link to ${name}`);
      link.target = { host: "127.0.0.1", port };
      return link.port;
    };
    const { triple, links } = await startLinkedTriple({ clientPort });
    stop.use(links);
    stop.use(triple);
    await triple.startController("hc2");
    const proxyUrl = await startServing(triple, stop);
    return new FaultStand({ triple, links, clientLinks, proxyUrl }, stop.move());
  }

  /** The open server by its agent's own word; the record's, when no agent says so. */
  async source(): Promise<string> {
    for (const name of NAMES) {
      const state = await this.triple.agents.observe(name).catch(() => null);
      if (state?.role === "open" && state.file?.revoked === false) return name;
    }
    return this.triple.source();
  }

  async replicas(): Promise<readonly [string, string]> {
    const source = await this.source();
    const [first = "", second = ""] = NAMES.filter((name) => name !== source);
    return [first, second];
  }

  /** SIGSTOP of a mysqld. @returns what wakes it */
  stopMysqld(name: string): () => void {
    const pid = this.triple.agents.mysqldPid(name);
    this.#stopped.add(pid);
    signal(pid, "SIGSTOP");
    return () => this.triple.wake(pid);
  }

  killMysqld(name: string): void {
    signal(this.triple.agents.mysqldPid(name), "SIGKILL");
  }

  /** Agent and mysqld at once; the agent stays away until `bringUp`. */
  async takeDown(name: string): Promise<void> {
    await this.#starting.get(name);
    this.killMysqld(name);
    await this.triple.agents.killAgent(name);
    this.killMysqld(name); // started by the agent in between
  }

  /** Starts an agent that does not run. Two that ask at once start one. */
  bringUp(name: string): Promise<void> {
    const { agent } = this.triple.agents.server(name);
    const runs = agent !== null && agent.exitCode === null && agent.signalCode === null;
    const starting = this.#starting.get(name) ?? (runs ? Promise.resolve() : this.triple.bringUp(name));
    this.#starting.set(name, starting);
    return starting.finally(() => this.#starting.delete(name));
  }

  async hide(name: string): Promise<void> {
    if (this.#hidden.has(name)) return;
    this.#hidden.add(name);
    await this.triple.hide(name);
  }

  async show(name: string): Promise<void> {
    if (this.#hidden.delete(name)) await this.triple.show(name);
  }

  /** A machine on an island: no peer, no client, no health checker reaches it. */
  async isolate(name: string, state: "silent" | "cut"): Promise<void> {
    for (const peer of NAMES) {
      if (peer === name) continue;
      this.links.get(name, peer).set(state);
      this.links.get(peer, name).set(state);
    }
    this.clientLinks.get(name)?.set(state);
    await this.hide(name);
  }

  pauseControl(): () => void {
    const { pid } = this.triple.controlServer;
    signal(pid, "SIGSTOP");
    return () => signal(pid, "SIGCONT");
  }

  /** The checker that leads by its own word; any that lives, when none says so. */
  async leader(): Promise<string | null> {
    return (await this.triple.leading()) ?? [...this.triple.controllers.keys()][0] ?? null;
  }

  async armFault(checker: string, point: string, mode: "crash" | "hold"): Promise<void> {
    this.#faults.add(point);
    await this.triple.fault(checker, point, mode);
  }

  /** Lets a checker go on that is held, if it still runs. */
  async disarm(checker: string, point: string): Promise<void> {
    await this.triple.fault(checker, point, "off").catch(() => {});
  }

  /** Everything runs and can be reached, no fault is armed. */
  async heal(): Promise<void> {
    const { triple } = this;
    signal(triple.controlServer.pid, "SIGCONT");
    for (const pid of this.#stopped) triple.wake(pid);
    this.#stopped.clear();
    this.links.openAll();
    for (const link of this.clientLinks.values()) link.set("open");
    for (const name of this.#hidden) await this.show(name);
    await Promise.all([...NAMES.map((name) => this.bringUp(name)), ...CHECKERS.map((name) => this.#healChecker(name))]);
    this.#faults.clear();
  }

  async #healChecker(name: string): Promise<void> {
    const { controllers } = this.triple;
    const child = controllers.get(name)?.child;
    child?.kill("SIGCONT");
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      controllers.delete(name);
      await this.triple.startController(name);
      return;
    }
    try {
      for (const point of this.#faults) await this.triple.fault(name, point, "off");
    } catch {
      // it came to an armed point as it woke up
      await this.triple.ended(child, "SIGKILL");
      controllers.delete(name);
      await this.triple.startController(name);
    }
  }

  /** Whole, nothing is wrong any more, and every recovery has its end in the audit; for longer than any look is old. */
  async untilSettled(timeoutMs: number): Promise<void> {
    const { triple } = this;
    let sinceMs: number | null = null;
    await triple.until(
      "the triple has settled",
      async () => {
        const settled = await this.#isSettled();
        sinceMs = settled ? (sinceMs ?? monotonicMs()) : null;
        return sinceMs !== null && monotonicMs() - sinceMs >= SETTLED_FOR_MS;
      },
      timeoutMs,
    );
  }

  async #isSettled(): Promise<boolean> {
    const { triple } = this;
    if (!(await triple.isWhole()) || (await triple.leading()) === null) return false;
    const ended = (await triple.recoveries()).every(({ outcome }) => outcome !== null);
    return ended && (await triple.problems()).length === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.#stopped) this.triple.wake(pid);
    await this.#stop.disposeAsync();
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended already
  }
}

/** The stripe's schema, two service instances and a proxy. @returns the proxy's URL */
async function startServing(triple: FailoverTriple, stop: AsyncDisposableStack): Promise<string> {
  const schema = `stripe_000${STRIPE}_p${PLACE}`;
  const writer = { host: "127.0.0.1", port: triple.writerPort };
  await migrateStripe({ ...writer, ...triple.account("migrate") }, STRIPE, PLACE);
  const services: string[] = [];
  for (let instance = 1; instance <= SERVICES; instance++) services.push(await startService(triple, instance, stop));
  const control = { ...triple.controlServer.target, database: CONTROL_SCHEMA };
  const database = { ...writer, ...triple.account("app"), database: schema };
  await setUpStripes(control, [{ stripe: STRIPE, place: PLACE, tripleId: "t0001", services, database }]);
  const port = await kernelPort();
  const env = { PORT: String(port), ROUTING_CACHE_FILE: triple.agents.folder.path("proxy-routing.json") };
  const url = `http://127.0.0.1:${port}`;
  await startEntry(triple, "proxy", { ...env, ...controlEnv(triple), ...QUICK_PROXY }, `${url}/readyz`, stop);
  return url;
}

async function startService(triple: FailoverTriple, instance: number, stop: AsyncDisposableStack): Promise<string> {
  const port = await kernelPort();
  const url = `http://127.0.0.1:${port}`;
  const { user, password } = triple.account("app");
  const env = {
    PORT: String(port),
    STRIPE: String(STRIPE),
    PLACE: String(PLACE),
    INSTANCE: String(instance),
    DB_WRITER_HOST: "127.0.0.1",
    DB_WRITER_PORT: String(triple.writerPort),
    DB_READER_HOST: "127.0.0.1",
    DB_READER_PORT: String(triple.readerPort),
    DB_USER: user,
    DB_PASSWORD: password,
    WRITE_POOL_MAX: "10",
    PRIMARY_READ_POOL_MAX: "4",
    REPLICA_READ_POOL_MAX: "2",
    RESOLVER_PARALLEL_MAX: "4",
    ROUTING_CACHE_FILE: triple.agents.folder.path(`service-${instance}-routing.json`),
    ...controlEnv(triple),
  };
  await startEntry(triple, "stripe-service", env, `${url}/healthz`, stop);
  return url;
}

function controlEnv(triple: FailoverTriple): Record<string, string> {
  const { host, port, user, password } = triple.controlServer.target;
  return {
    CONTROL_DB_HOST: host,
    CONTROL_DB_PORT: String(port),
    CONTROL_DB_USER: user,
    CONTROL_DB_PASSWORD: password,
    CONTROL_DB_NAME: CONTROL_SCHEMA,
  };
}

async function startEntry(
  triple: FailoverTriple,
  part: string,
  env: Record<string, string>,
  answers: string,
  stop: AsyncDisposableStack,
): Promise<void> {
  const log = openSync(triple.agents.folder.log(part), "a");
  const argv = [join(PROJECT, part, "main.ts")];
  const child: ChildProcess = spawn(process.execPath, argv, {
    stdio: ["ignore", log, log],
    env: childEnv({ HOST: "127.0.0.1", LOG_LEVEL: "warn", ...env }),
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  stop.defer(async () => {
    process.off("exit", kill);
    await triple.ended(child, "SIGKILL");
  });
  await triple.until(`${part} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${part} has ended, see its log in ${triple.agents.folder.path()}`);
    return request(answers).then(
      async ({ statusCode, body }) => body.dump().then(() => statusCode === 200),
      () => false,
    );
  });
}
