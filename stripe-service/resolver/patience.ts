import { monotonicMs } from "../../runtime/clock.ts";
import type { Key } from "../db/index-rows.ts";
import type { Peers } from "./peers.ts";
import type { RunResult } from "./resolve-handoff.ts";

/** Handoffs remembered at most; one that is forgotten is only tried sooner. */
const REMEMBERED_MAX = 10_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 1_600;

interface Waiting {
  readonly untilMs: number;
  readonly tries: number;
  /** The stripe whose answer it waits for. */
  readonly stripe: number | undefined;
}

/** When a handoff that could not be settled is tried again. */
export class Patience {
  readonly #peers: Peers;
  readonly #waiting = new Map<string, Waiting>();

  constructor(peers: Peers) {
    this.#peers = peers;
  }

  /** @param home the stripe that its next run asks first */
  due(key: Key, home: number | undefined): boolean {
    if (home === undefined || !this.#peers.available(home)) return false;
    const waiting = this.#waiting.get(nameOf(key));
    if (waiting === undefined) return true;
    return monotonicMs() >= waiting.untilMs && (waiting.stripe === undefined || this.#peers.available(waiting.stripe));
  }

  note(key: Key, result: RunResult): void {
    const name = nameOf(key);
    const tries = (this.#waiting.get(name)?.tries ?? 0) + 1;
    this.#waiting.delete(name);
    if (result.kind === "done") return;
    if (this.#waiting.size >= REMEMBERED_MAX) this.#forgetOldest();
    const away = result.kind === "away";
    // The silent stripe is left alone as a whole; its handoffs need no growing pauses of their own.
    const pauseMs = away ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), PAUSE_MAX_MS);
    this.#waiting.set(name, {
      untilMs: monotonicMs() + pauseMs,
      tries: away ? 0 : tries,
      stripe: away ? result.stripe : undefined,
    });
  }

  #forgetOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#waiting.delete(oldest);
  }
}

function nameOf({ mchid, outTradeNo }: Key): string {
  return `${mchid} ${outTradeNo}`;
}
