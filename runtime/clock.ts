// The only module that reads a clock. Wall time is for people and for order numbers; every duration and deadline is
// measured with the monotonic clock, so that a step of the wall clock never shortens or lengthens a wait.

/** Wall-clock time in whole milliseconds since the Unix epoch. */
export function wallNowMs(): number {
  return Date.now();
}

/** Wall-clock time as RFC 3339 in UTC with three decimals. */
export function wallNowIso(): string {
  return new Date().toISOString();
}

/** Monotonic time in milliseconds (fractional); only differences mean anything. */
export function monotonicMs(): number {
  return performance.now();
}

/** Resolves after `ms` milliseconds, or at once when `signal` is aborted (never rejects). */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** A point on the monotonic clock by which something must be answered. */
export class Deadline {
  readonly #atMs: number;

  constructor(budgetMs: number) {
    this.#atMs = monotonicMs() + budgetMs;
  }

  /** Milliseconds left; never negative. */
  remainingMs(): number {
    return Math.max(0, this.#atMs - monotonicMs());
  }

  get passed(): boolean {
    return this.remainingMs() === 0;
  }
}
