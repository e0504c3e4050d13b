// One client and one sequence pool for each stripe of the routing table.
import type { StripeRow } from "../../core/routing-table.ts";
import type { Limits } from "../config.ts";
import { SequencePool } from "../mint/sequence-pool.ts";
import { leaseSequenceBlock } from "../mint/lease-sequence-block.ts";
import type { TableView } from "../../runtime/routing/table-view.ts";
import { StripeClient } from "./stripe-client.ts";

export interface StripeLine {
  readonly client: StripeClient;
  readonly sequences: SequencePool;
}

export class Fleet {
  readonly #limits: Limits;
  readonly #lines = new Map<number, StripeLine>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** The line to a stripe of the table last given to `update`. */
  line(stripe: number): StripeLine | undefined {
    return this.#lines.get(stripe);
  }

  lines(): Iterable<StripeLine> {
    return this.#lines.values();
  }

  /** Follows the routing table, and leases sequence numbers ahead so that a jump does not have to wait for them. */
  update(view: TableView): void {
    for (const row of view.table.stripes) {
      const line = this.#lines.get(row.stripe) ?? this.#open(row, view);
      line.client.update(row);
      if (row.temperature === "hot") line.sequences.prefetch();
    }
    for (const [stripe, line] of this.#lines) {
      if (view.stripe(stripe) !== undefined) continue;
      this.#lines.delete(stripe);
      void line.client.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines.values()].map(({ client }) => client.close()));
  }

  #open(row: StripeRow, view: TableView): StripeLine {
    const client = new StripeClient(row, this.#limits);
    const size = this.#limits.sequenceBlockSize;
    const sequences = new SequencePool(() =>
      leaseSequenceBlock(client, size, this.#limits.attemptTimeoutMs, view.version),
    );
    const line = { client, sequences };
    this.#lines.set(row.stripe, line);
    return line;
  }
}
