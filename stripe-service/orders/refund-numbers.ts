import type { RefundId, StripeNo } from "../../core/ids.ts";
import { mintRefundId } from "../../core/order-number.ts";
import type { WireSequenceBlock } from "../../core/schemas/wire.ts";
import { Deadline, wallNowMs } from "../../runtime/clock.ts";

export interface RefundNumbersOptions {
  readonly stripe: StripeNo;
  readonly blockSize: number;
  readonly leaseDeadlineMs: number;
  readonly lease: (size: number, deadline: Deadline) => Promise<WireSequenceBlock>;
}

/** Mints refund numbers from blocks that this instance leases; the next block is fetched when half of one is used. */
export class RefundNumbers {
  readonly #options: RefundNumbersOptions;
  #next = 0;
  #end = 0;
  #spare: WireSequenceBlock | undefined;
  #leasing: Promise<void> | undefined;

  constructor(options: RefundNumbersOptions) {
    this.#options = options;
  }

  /** @throws what leasing throws, when no number is left */
  async mint(): Promise<RefundId> {
    while (this.#next >= this.#end) {
      if (this.#spare === undefined) await this.#lease();
      else this.#useSpare(this.#spare);
    }
    const sequence = this.#next;
    this.#next += 1;
    const half = this.#end - this.#options.blockSize / 2;
    if (this.#next >= half && this.#spare === undefined) this.#lease().catch(() => undefined);
    return mintRefundId(this.#options.stripe, wallNowMs(), sequence);
  }

  #useSpare({ first, size }: WireSequenceBlock): void {
    this.#next = first;
    this.#end = first + size;
    this.#spare = undefined;
  }

  /** One lease at a time, shared by all who wait. */
  #lease(): Promise<void> {
    this.#leasing ??= this.#options
      .lease(this.#options.blockSize, new Deadline(this.#options.leaseDeadlineMs))
      .then((block) => {
        this.#spare = block;
      })
      .finally(() => {
        this.#leasing = undefined;
      });
    return this.#leasing;
  }
}
