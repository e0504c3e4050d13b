import { overloaded } from "./mysql-faults.ts";

interface Waiter {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Lets at most `widthMax` callers in; at most `queueMax` more wait, first come first served, each for a bounded time.
 * Refusals are certain: whoever is refused has sent nothing.
 */
export class Gate {
  readonly #widthMax: number;
  readonly #queueMax: number;
  #inside = 0;
  readonly #queue = new Set<Waiter>();

  constructor(widthMax: number, queueMax: number) {
    this.#widthMax = widthMax;
    this.#queueMax = queueMax;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Resolves when the caller is in; it must call {@link leave} once. @throws DomainError OVERLOADED */
  enter(waitMs: number): Promise<void> {
    if (this.#inside < this.#widthMax) {
      this.#inside += 1;
      return Promise.resolve();
    }
    if (this.#queue.size >= this.#queueMax)
      return Promise.reject(overloaded("too many requests wait for the database"));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        enter: () => {
          clearTimeout(waiter.timer);
          this.#queue.delete(waiter);
          resolve();
        },
        timer: setTimeout(() => {
          this.#queue.delete(waiter);
          reject(overloaded("no database connection became free in time"));
        }, waitMs),
      };
      this.#queue.add(waiter);
    });
  }

  leave(): void {
    const [next] = this.#queue;
    if (next === undefined) this.#inside -= 1;
    else next.enter();
  }
}
