import { monotonicMs } from "../../runtime/clock.ts";

/** A pause never grows beyond this many times the first one. */
const GROWTH_MAX = 4;

/**
 * Passive health of one thing from what calls to it came to. After `threshold` failures in a row it pauses; when the
 * pause is over, one caller is let through to try, and the next failure begins a longer pause.
 */
export class Breaker {
  readonly #threshold: number;
  readonly #pauseMs: number;
  readonly #trialMs: number;
  #failures = 0;
  #growth = 1;
  #pausedUntilMs = 0;
  #trialUntilMs = 0;

  /** @param trialMs how long a trial may take before another caller may try */
  constructor(threshold: number, pauseMs: number, trialMs: number) {
    this.#threshold = threshold;
    this.#pauseMs = pauseMs;
    this.#trialMs = trialMs;
  }

  get paused(): boolean {
    return this.#failures >= this.#threshold;
  }

  /** Whether the caller may prefer this thing now; true during a pause makes the caller the trial. */
  admit(): boolean {
    if (!this.paused) return true;
    const now = monotonicMs();
    if (now < this.#pausedUntilMs || now < this.#trialUntilMs) return false;
    this.#trialUntilMs = now + this.#trialMs;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#growth = 1;
  }

  failed(): void {
    this.#failures += 1;
    if (this.#failures < this.#threshold) return;
    const now = monotonicMs();
    // Calls that were in flight together fail together: that is one failure of the thing, not many.
    if (now < this.#pausedUntilMs) return;
    this.#pausedUntilMs = now + this.#pauseMs * this.#growth;
    this.#growth = Math.min(this.#growth * 2, GROWTH_MAX);
  }
}
