import { type Deadline, sleep } from "../../runtime/clock.ts";
import type { WireSequenceBlock } from "../../core/schemas/wire.ts";

/**
 * Sequence numbers of one stripe from leased blocks. The next block is leased when half of the present one is used, by
 * one call at a time, so that creates hardly ever wait for one.
 */
export class SequencePool {
  readonly #lease: () => Promise<WireSequenceBlock | null>;
  #next = 0;
  #end = 0;
  #half = 0;
  #spare: WireSequenceBlock | undefined;
  #leasing: Promise<boolean> | undefined;

  /** @param lease asks the stripe for a block, bounded in time; null when it gave none */
  constructor(lease: () => Promise<WireSequenceBlock | null>) {
    this.#lease = lease;
  }

  /** Starts to lease a block ahead unless one is there or on its way. */
  prefetch(): void {
    if (this.#spare !== undefined || this.#leasing !== undefined || this.#next < this.#half) return;
    this.#leasing = this.#leaseBlock().finally(() => {
      this.#leasing = undefined;
    });
  }

  /** The next number, at most `deadline` later; null when the stripe gave none. */
  async next(deadline: Deadline): Promise<number | null> {
    for (;;) {
      const number = this.take();
      if (number !== undefined) return number;
      this.prefetch();
      const gone = new AbortController();
      const late = sleep(deadline.remainingMs(), gone.signal).then(() => false);
      const got = await Promise.race([this.#leasing ?? Promise.resolve(false), late]);
      gone.abort();
      if (!got) return this.take() ?? null;
    }
  }

  /** The next number if one is here. */
  take(): number | undefined {
    if (this.#next >= this.#end) {
      if (this.#spare === undefined) return undefined;
      const { first, size } = this.#spare;
      this.#spare = undefined;
      this.#next = first;
      this.#end = first + size;
      this.#half = first + Math.ceil(size / 2);
    }
    const number = this.#next;
    this.#next += 1;
    if (this.#next >= this.#half) this.prefetch();
    return number;
  }

  async #leaseBlock(): Promise<boolean> {
    const block = await this.#lease();
    if (block === null) return false;
    this.#spare = block;
    return true;
  }
}
