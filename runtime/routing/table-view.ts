import type { Bucket, StripeNo } from "../../core/ids.ts";
import { type OrderKey, rendezvousOrder } from "../../core/placement.ts";
import { type MerchantRoute, routeOf } from "../../core/partitions.ts";
import { type MerchantRow, type RoutingTable, type StripeRow, takesCreates } from "../../core/routing-table.ts";
import type { TrialRow } from "../../core/routing-table.ts";

const ROUTES_KEPT_MAX = 10_000;

/** One version of the routing table, indexed. Immutable. */
export class TableView {
  readonly table: RoutingTable;
  readonly #stripes: ReadonlyMap<number, StripeRow>;
  readonly #buckets: ReadonlyMap<string, readonly (StripeNo | null)[]>;
  readonly #members: ReadonlyMap<string, readonly StripeRow[]>;
  readonly #takers: ReadonlyMap<string, readonly StripeRow[]>;
  readonly #merchants: ReadonlyMap<string, MerchantRow>;
  readonly #trials: ReadonlyMap<string, TrialRow>;
  /** Those that were asked for: the same few merchants ask all the time. */
  readonly #routes = new Map<string, MerchantRoute>();

  constructor(table: RoutingTable) {
    this.table = table;
    this.#stripes = new Map(table.stripes.map((row) => [row.stripe, row]));
    this.#buckets = new Map(table.partitions.map((p) => [p.partition, p.buckets]));
    this.#members = Map.groupBy(table.stripes, (row) => row.partition);
    const takers = table.stripes.filter((row) => takesCreates(row, row.partition));
    this.#takers = Map.groupBy(takers, (row) => row.partition);
    this.#merchants = new Map(table.merchants.map((m) => [m.mchid, m]));
    this.#trials = new Map(table.trials.map((trial) => [trial.partition, trial]));
  }

  get version(): number {
    return this.table.version;
  }

  stripe(stripe: number): StripeRow | undefined {
    return this.#stripes.get(stripe);
  }

  merchant(mchid: string): MerchantRoute {
    const known = this.#routes.get(mchid);
    if (known !== undefined) return known;
    if (this.#routes.size >= ROUTES_KEPT_MAX) this.#routes.clear();
    const route = routeOf(mchid, this.#merchants.get(mchid), this.#trials);
    this.#routes.set(mchid, route);
    return route;
  }

  /** The bucket's home stripe, or undefined when the partition or the stripe is not in the table. */
  home(partition: string, bucket: Bucket): StripeRow | undefined {
    const stripe = this.#buckets.get(partition)?.[bucket];
    return stripe === undefined || stripe === null ? undefined : this.#stripes.get(stripe);
  }

  /** Whether buckets of the partition were ever given homes. */
  hasHomes(partition: string): boolean {
    return this.#buckets.has(partition);
  }

  /** The stripes of a partition that the table lets take new orders. */
  takers(partition: string): readonly StripeRow[] {
    return this.#takers.get(partition) ?? [];
  }

  /** All stripes of a partition. */
  members(partition: string): readonly StripeRow[] {
    return this.#members.get(partition) ?? [];
  }

  /**
   * Stripes in the key's own order: those with weight as creates meet them, then the others, which take no creates now
   * but may hold what they took before.
   */
  inKeyOrder(rows: readonly StripeRow[], key: OrderKey): StripeRow[] {
    const weighted = rendezvousOrder(key, rows).flatMap((stripe) => this.#stripes.get(stripe) ?? []);
    return [...weighted, ...rows.filter((row) => row.weight === 0)];
  }
}
