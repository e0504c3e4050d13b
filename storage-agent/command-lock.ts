// One command at a time, from the epoch check to the last verification.
import type { Deadline } from "../runtime/clock.ts";

export const WAITING_COMMANDS_MAX = 16;

export class CommandLock {
  readonly #queue: (() => void)[] = [];
  #held = false;

  /** Takes the lock; false when it is not free by the deadline or too many wait already. */
  acquire(deadline: Deadline): Promise<boolean> {
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve(true);
    }
    if (this.#queue.length >= WAITING_COMMANDS_MAX) return Promise.resolve(false);
    return new Promise((resolve) => {
      const grant = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(grant), 1);
        resolve(false);
      }, deadline.remainingMs());
      this.#queue.push(grant);
    });
  }

  release(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#held = false;
  }
}
