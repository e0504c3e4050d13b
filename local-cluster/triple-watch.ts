// Watches one triple through its agents: what each server is now, for cluster.json. It changes nothing: roles are the
// health checkers' business.
import type { AgentState } from "../core/agent-wire.ts";
import { AgentClient } from "../runtime/agent-client.ts";
import { Deadline, sleep } from "../runtime/clock.ts";
import type { SeenServer } from "./cluster-info.ts";
import type { StripePlan } from "./plan.ts";
import { endsWithin } from "./within.ts";

const INTERVAL_MS = 500;
const OBSERVE_DEADLINE_MS = 2_500;
const OPEN_TIMEOUT_MS = 60_000;
const OPEN_POLL_MS = 100;
const SHUTDOWN_DEADLINE_MS = 40_000;
const LAST_COMMITS_MS = 1_000;

export interface TripleWatchHooks {
  readonly onChange: () => void;
}

export class TripleWatch {
  readonly stripe: StripePlan;
  readonly #agents: readonly AgentClient[];
  readonly #hooks: TripleWatchHooks;
  readonly #seen = new Map<string, SeenServer>();
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(stripe: StripePlan, hooks: TripleWatchHooks) {
    this.stripe = stripe;
    this.#hooks = hooks;
    this.#agents = stripe.servers.map(
      ({ name, agentPort }) => new AgentClient({ server: name, host: "127.0.0.1", port: agentPort }),
    );
  }

  seen(server: string): SeenServer | undefined {
    return this.#seen.get(server);
  }

  /** The server that is open now, or undefined. */
  sourcePort(): number | undefined {
    return this.stripe.servers.find(({ name }) => this.#seen.get(name)?.role === "open")?.port;
  }

  /** Asks every agent once. Missing answers count as down. */
  async observe(): Promise<(AgentState | undefined)[]> {
    const states = await Promise.all(
      this.#agents.map((agent) => agent.observe(OBSERVE_DEADLINE_MS).catch(() => undefined)),
    );
    let changed = false;
    for (const [i, server] of this.stripe.servers.entries()) {
      const state = states[i];
      const now: SeenServer = { role: state?.role ?? "down", pid: state?.process.pid ?? null };
      const before = this.#seen.get(server.name);
      changed ||= before?.role !== now.role || before.pid !== now.pid;
      this.#seen.set(server.name, now);
    }
    if (changed) this.#hooks.onChange();
    return states;
  }

  /**
   * Waits until the triple has an open source and a replica that follows it.
   * @throws Error when that does not happen in time
   */
  async untilOpen(): Promise<void> {
    const deadline = new Deadline(OPEN_TIMEOUT_MS);
    for (;;) {
      this.#stop.signal.throwIfAborted();
      await this.observe();
      const roles = this.stripe.servers.map(({ name }) => this.#seen.get(name)?.role ?? "down");
      if (roles.includes("open") && roles.includes("follower")) return;
      if (deadline.passed)
        throw new Error(`stripe ${this.stripe.stripe} has no source yet (${roles.join(", ")}); see the logs`);
      await sleep(OPEN_POLL_MS, this.#stop.signal);
    }
  }

  start(): void {
    this.#loop = this.#watch();
  }

  /** Ends the watching, not the servers. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /**
   * Shuts the servers down: the source first, so that replicas are there to acknowledge its last commits. They do so
   * within milliseconds, because nobody writes any more; the rest of its shutdown goes beside theirs.
   */
  async shutDownServers(): Promise<void> {
    await this.stop();
    const isSource = (name: string): boolean => this.#seen.get(name)?.role === "open";
    const shutDown = (agent: AgentClient): Promise<void> => agent.shutdown(SHUTDOWN_DEADLINE_MS).catch(() => {});
    const sources = Promise.all(this.#agents.filter((agent) => isSource(agent.server)).map(shutDown));
    await endsWithin(LAST_COMMITS_MS, sources);
    await Promise.all([sources, ...this.#agents.filter((agent) => !isSource(agent.server)).map(shutDown)]);
    await Promise.all(this.#agents.map((agent) => agent.close()));
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await sleep(INTERVAL_MS, this.#stop.signal);
      if (!this.#stop.signal.aborted) await this.observe();
    }
  }
}
