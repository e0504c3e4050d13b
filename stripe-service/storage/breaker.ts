// Keeps callers from all waiting for a server that does not answer: after some failures in a row one caller at a time
// tries, the others are told at once.
import { monotonicMs } from "../../runtime/clock.ts";

export interface BreakerLimits {
  /** Failures in a row after which callers are refused. */
  readonly failuresMax: number;
  /** At least this long between two tries while refusing. */
  readonly trialIntervalMs: number;
}

export class Breaker {
  readonly #limits: BreakerLimits;
  #failures = 0;
  #trialInFlight = false;
  #lastTrialMs = Number.NEGATIVE_INFINITY;

  constructor(limits: BreakerLimits) {
    this.#limits = limits;
  }

  get refusing(): boolean {
    return this.#failures >= this.#limits.failuresMax;
  }

  /**
   * Whether a caller may try. One that may must call {@link succeeded}, {@link failed} or {@link undecided} once.
   * @param suspected treat the server as failing although no call has ended yet
   */
  mayTry(suspected = false): boolean {
    if (!this.refusing && !suspected) return true;
    const now = monotonicMs();
    if (this.#trialInFlight || now - this.#lastTrialMs < this.#limits.trialIntervalMs) return false;
    this.#trialInFlight = true;
    this.#lastTrialMs = now;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#trialInFlight = false;
  }

  failed(): void {
    this.#failures = Math.min(this.#failures + 1, this.#limits.failuresMax);
    this.#trialInFlight = false;
  }

  /** The call ended in a way that tells nothing of the server. */
  undecided(): void {
    this.#trialInFlight = false;
  }
}
