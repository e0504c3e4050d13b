// Keeps callers from all waiting for a server that does not answer: after some failures in a row one caller at a time
// tries, the others are told at once.
import { monotonicMs } from "../../runtime/clock.ts";

export interface BreakerLimits {
  /** Failures in a row after which callers are refused. */
  readonly failuresMax: number;
  /** At least this long between the end of one try and the next, while refusing. */
  readonly trialIntervalMs: number;
}

/** `trial`: the one caller that finds out whether the server answers again. */
export type Permit = "normal" | "trial" | "refused";

export class Breaker {
  readonly #limits: BreakerLimits;
  #failures = 0;
  #trialInFlight = false;
  #nextTrialMs = 0;

  constructor(limits: BreakerLimits) {
    this.#limits = limits;
  }

  /**
   * Asks whether a caller may try. Unless refused it must call {@link ended} once.
   * @param suspected treat the server as failing although no call has ended yet
   */
  ask(suspected = false): Permit {
    const permit = this.peek(suspected);
    if (permit === "trial") this.#trialInFlight = true;
    return permit;
  }

  /** What {@link ask} would say. */
  peek(suspected = false): Permit {
    if (this.#failures < this.#limits.failuresMax && !suspected) return "normal";
    return this.#trialInFlight || monotonicMs() < this.#nextTrialMs ? "refused" : "trial";
  }

  /** @param how `undecided`: the call ended in a way that tells nothing of the server */
  ended(permit: Permit, how: "succeeded" | "failed" | "undecided"): void {
    if (how === "succeeded") this.#failures = 0;
    if (how === "failed") this.#failures = Math.min(this.#failures + 1, this.#limits.failuresMax);
    if (permit !== "trial") return;
    this.#trialInFlight = false;
    this.#nextTrialMs = how === "succeeded" ? 0 : monotonicMs() + this.#limits.trialIntervalMs;
  }
}
