/** Thrown by {@link bounded}; the work itself goes on, whoever waits for it no longer does. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`not done within ${Math.round(ms)} ms`);
    this.name = "TimedOut";
  }
}

/**
 * The result of `work`, waited for at most `ms`.
 * @param onLate gets the result when it comes after all, so that what it holds can be given back
 * @throws TimedOut
 */
export function bounded<T>(work: Promise<T>, ms: number, onLate?: (value: T) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      reject(new TimedOut(ms));
    }, ms);
    work.then(
      (value) => {
        clearTimeout(timer);
        if (late) onLate?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (!late) reject(error as Error);
      },
    );
  });
}
