// How many calls may be in flight to one stripe: pure, fed with what calls came to. While the stripe answers as usual the
// limit grows to its maximum; when its answers become slow against its own past, or calls time out, the limit shrinks
// fast. So a slow stripe holds few of the proxy's sockets and callers, and a stripe that is itself overloaded is
// relieved before its queues fill.

export const LIMIT_RULES = {
  /** A window ends when it is this old and has this many calls, or when it is old enough for few calls. */
  windowMs: 250,
  windowCalls: 10,
  windowMaxMs: 1_000,
  /** Latencies kept of one window. */
  windowCallsKept: 256,
  /** Slow: the median is above both. Near the time that an attempt is given, so that a burst alone is not it. */
  slowMs: 800,
  slowTimesUsual: 4,
  /** Calls that timed out, or were refused as too many, from which on a window is bad: their share, and how many. */
  lostShare: 0.1,
  lostCalls: 2,
  shrinkTo: 0.7,
  growBy: 0.1,
  /** How fast the usual latency follows windows: faster ones, slower ones, slow ones. */
  usualDown: 0.3,
  usualUp: 0.02,
  usualUpWhileSlow: 0.005,
} as const;

export class AdaptiveLimit {
  readonly #min: number;
  readonly #max: number;
  #limit: number;
  #usualMs: number | null = null;
  #windowStartMs: number | null = null;
  #latencies: number[] = [];
  #calls = 0;
  #lost = 0;
  #peak = 0;
  #badWindows = 0;

  /** @param min never below this, nor above `max`; @param max where it starts */
  constructor(min: number, max: number) {
    this.#min = Math.min(min, max);
    this.#max = max;
    this.#limit = max;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** What is usual for the stripe, ms; null before the first window. */
  get usualMs(): number | null {
    return this.#usualMs;
  }

  /**
   * A call has ended.
   * @param lost it timed out, or the stripe refused it as one too many
   * @param inFlight calls in flight when it ended, itself among them
   * @param nowMs monotonic
   */
  ended(ms: number, lost: boolean, inFlight: number, nowMs: number): void {
    this.#windowStartMs ??= nowMs;
    this.#peak = Math.max(this.#peak, inFlight);
    this.#calls += 1;
    if (lost) this.#lost += 1;
    if (this.#latencies.length < LIMIT_RULES.windowCallsKept) this.#latencies.push(ms);
    const age = nowMs - this.#windowStartMs;
    const { windowMs, windowCalls, windowMaxMs } = LIMIT_RULES;
    if (age >= windowMaxMs || (age >= windowMs && this.#calls >= windowCalls)) this.#endWindow();
  }

  #endWindow(): void {
    const rules = LIMIT_RULES;
    const sorted = this.#latencies.sort((a, b) => a - b);
    const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0;
    // The first window may have begun with a call long ago, before the stripe became slow.
    const usualMs = this.#usualMs ?? sorted[0] ?? 0;
    const slow = medianMs > rules.slowMs && medianMs > rules.slowTimesUsual * usualMs;
    if (slow || this.#lost >= Math.max(rules.lostCalls, rules.lostShare * this.#calls)) {
      this.#badWindows += 1;
      // Once is a hiccup. When it goes on, as many as there were are too many, however high the limit was.
      const from = this.#badWindows > 1 ? Math.min(this.#limit, this.#peak) : this.#limit;
      this.#limit = Math.max(this.#min, from * rules.shrinkTo);
    } else {
      this.#badWindows = 0;
      this.#limit = Math.min(this.#max, this.#limit + Math.max(1, this.#limit * rules.growBy));
    }
    const up = slow ? rules.usualUpWhileSlow : rules.usualUp;
    // A call that was given up took as long as we waited, which says nothing of what is usual.
    if (this.#lost === 0) this.#usualMs = usualMs + (medianMs - usualMs) * (medianMs < usualMs ? rules.usualDown : up);
    this.#windowStartMs = null;
    this.#latencies = [];
    this.#calls = 0;
    this.#lost = 0;
    this.#peak = 0;
  }
}
