// Looks at one agent over and over, on a held connection of its own, and keeps what it knows as a ServerView.
import type { AgentClient } from "../../runtime/agent-client.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import { advance, type PollEvent, type ServerView, unseen } from "./server-view.ts";
import { POLL_AGAIN_MS, POLL_DEADLINE_MS, POLL_INTERVAL_MS, SELF_STALL_MS } from "./thresholds.ts";

export class AgentWatch {
  readonly #client: AgentClient;
  readonly #onChange: () => void;
  #view: ServerView;
  #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  /** @param onChange called after every poll; must not throw */
  constructor(client: AgentClient, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
    this.#view = unseen(client.server, monotonicMs());
  }

  get view(): ServerView {
    return this.#view;
  }

  /** Begins with no memory of an earlier time. */
  start(): void {
    this.#stop = new AbortController();
    this.#view = unseen(this.#client.server, monotonicMs());
    this.#loop = this.#run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const askedAtMs = monotonicMs();
      const event = await this.#poll(askedAtMs);
      if (signal.aborted) return;
      const late = monotonicMs() - askedAtMs > POLL_DEADLINE_MS + SELF_STALL_MS;
      this.#take(late ? { kind: "stall", nowMs: monotonicMs() } : event);
      const intervalMs = this.#view.failures > 0 ? POLL_AGAIN_MS : POLL_INTERVAL_MS;
      const restMs = Math.max(1, intervalMs - (monotonicMs() - askedAtMs));
      const restedFromMs = monotonicMs();
      await sleep(restMs, signal);
      // A timer this late means that this process was stopped or starved: what it counted says nothing of others.
      if (monotonicMs() - restedFromMs > restMs + SELF_STALL_MS) this.#take({ kind: "stall", nowMs: monotonicMs() });
    }
  }

  async #poll(askedAtMs: number): Promise<PollEvent> {
    try {
      const state = await this.#client.observe(POLL_DEADLINE_MS);
      return { kind: "answer", state, askedAtMs, nowMs: monotonicMs() };
    } catch (error) {
      return { kind: "failure", error: (error as Error).message, nowMs: monotonicMs() };
    }
  }

  #take(event: PollEvent): void {
    this.#view = advance(this.#view, event);
    this.#onChange();
  }
}
