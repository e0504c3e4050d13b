import type { Knex } from "knex";
import type { StripeRow } from "../core/routing-table.ts";
import type { WireStripeState } from "../core/schemas/wire.ts";
import { sleep } from "../runtime/clock.ts";
import type { Readiness } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/logger.ts";
import { readRoutingVersion } from "./db/bump-routing-version.ts";
import { listStripes } from "./db/list-stripes.ts";
import type { StripeClient } from "./stripe-client.ts";

/** What the table wants a stripe to accept: only a hot one takes new orders; warm and cold take the rest. */
export function wantedState(row: StripeRow, routingVersion: number): WireStripeState {
  return {
    accepts_creates: row.temperature === "hot",
    accepts_writes: true,
    routing_version: routingVersion,
    partition: row.partition,
  };
}

/** Whether a stripe's own row says what the table wants. */
export function agrees(found: WireStripeState, wanted: WireStripeState): boolean {
  return (["accepts_creates", "accepts_writes", "partition"] as const).every((name) => found[name] === wanted[name]);
}

/**
 * Makes each stripe's own `stripe_state` row say what the table wants. The row, not the table, is the boundary after
 * which a stripe takes no more of a kind; a stripe that was down when an operator changed it is caught up here.
 */
export class Reconciler {
  readonly #control: Knex;
  readonly #stripes: StripeClient;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  /** Stripes that are being changed by hand. */
  readonly #held = new Set<number>();
  #loop: Promise<void> | undefined;
  #lastFault: string | null = null;

  constructor(control: Knex, stripes: StripeClient, intervalMs: number, logger: Logger) {
    this.#control = control;
    this.#stripes = stripes;
    this.#intervalMs = intervalMs;
    this.#logger = logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  readiness(): Readiness {
    return { ready: this.#lastFault === null, detail: this.#lastFault === null ? {} : { fault: this.#lastFault } };
  }

  /** Leaves a stripe alone while `work` changes it in an order of its own. @throws what `work` throws */
  async holding<T>(stripe: number, work: () => Promise<T>): Promise<T> {
    this.#held.add(stripe);
    try {
      return await work();
    } finally {
      this.#held.delete(stripe);
    }
  }

  /** Applies the table to one stripe now. @returns whether the stripe answers */
  async apply(row: StripeRow): Promise<boolean> {
    const found = await this.#stripes.state(row);
    if (found === null) return false;
    const wanted = wantedState(row, await readRoutingVersion(this.#control));
    if (agrees(found, wanted)) return true;
    const took = await this.#stripes.setState(row, wanted);
    if (took) this.#logger.info({ stripe: row.stripe, ...wanted }, "stripe state set");
    return took;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const rows = (await listStripes(this.#control)).filter((row) => !this.#held.has(row.stripe));
        await Promise.all(rows.map((row) => this.apply(row)));
        this.#lastFault = null;
      } catch (error) {
        if (this.#lastFault === null) this.#logger.error({ err: error }, "cannot reconcile");
        this.#lastFault = "the control database does not answer";
      }
      await sleep(this.#intervalMs, this.#stop.signal);
    }
  }
}
