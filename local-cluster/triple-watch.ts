// Watches one triple through its agents: what each server is now, and whether the triple has lost its source or a
// follower's role (a restarted server is always closed). Then the same function that brought the triple up is run
// again; it does nothing to what is right already.
import type { AgentState } from "../core/agent-wire.ts";
import { AgentClient } from "../runtime/agent-client.ts";
import { Deadline, sleep } from "../runtime/clock.ts";
import { bringUpTriple } from "../runtime/triple-bring-up.ts";
import type { SeenServer } from "./cluster-info.ts";
import type { StripePlan } from "./plan.ts";
import { endsWithin } from "./within.ts";

const INTERVAL_MS = 500;
const OBSERVE_DEADLINE_MS = 2_500;
const ANSWER_TIMEOUT_MS = 60_000;
const ANSWER_POLL_MS = 100;
const SHUTDOWN_DEADLINE_MS = 40_000;
const LAST_COMMITS_MS = 1_000;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 10_000;

export interface TripleWatchHooks {
  readonly onChange: () => void;
  readonly tell: (text: string) => void;
}

export class TripleWatch {
  readonly stripe: StripePlan;
  readonly #agents: readonly AgentClient[];
  readonly #hooks: TripleWatchHooks;
  readonly #seen = new Map<string, SeenServer>();
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #backoffMs = BACKOFF_FIRST_MS;

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
   * Waits until all three servers answer, then opens the triple.
   * @throws Error when a server does not answer in time, or what opening throws
   */
  async open(): Promise<void> {
    const deadline = new Deadline(ANSWER_TIMEOUT_MS);
    for (;;) {
      this.#stop.signal.throwIfAborted();
      const states = await this.observe();
      const down = this.stripe.servers.filter((_, i) => (states[i]?.role ?? "down") === "down");
      if (down.length === 0) break;
      const names = down.map(({ name }) => name).join(", ");
      if (deadline.passed) throw new Error(`no answer from ${names} within ${ANSWER_TIMEOUT_MS} ms; see the logs`);
      await sleep(ANSWER_POLL_MS, this.#stop.signal);
    }
    await bringUpTriple(this.#agents);
    await this.observe();
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
      if (this.#stop.signal.aborted) return;
      if (needsRepair(await this.observe())) await this.#repair();
    }
  }

  async #repair(): Promise<void> {
    const { stripe } = this.stripe;
    this.#hooks.tell(`stripe ${stripe}: a server has restarted or lost its role; bringing the triple up`);
    try {
      // A server that is down is left to its agent, which starts it again.
      await bringUpTriple(this.#agents.filter((agent) => (this.#seen.get(agent.server)?.role ?? "down") !== "down"));
      await this.observe();
      this.#backoffMs = BACKOFF_FIRST_MS;
      this.#hooks.tell(`stripe ${stripe}: the triple is up`);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#hooks.tell(`stripe ${stripe}: not up yet: ${(error as Error).message}`);
      await sleep(this.#backoffMs, this.#stop.signal);
      this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
    }
  }
}

/**
 * Whether there is something to do now. A server that does not answer is waited for, not acted upon: without it nothing
 * can be done that would be safe.
 */
export function needsRepair(states: readonly (AgentState | undefined)[]): boolean {
  const roles = states.map((state) => state?.role ?? "down");
  if (states.some((state) => (state?.busy ?? null) !== null)) return false;
  const idle = roles.some((role) => role === "closed" || role === "prepared" || role === "other");
  if (roles.includes("open")) return idle;
  return idle && !roles.includes("down");
}
