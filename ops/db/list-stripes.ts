import type { Knex } from "knex";
import type { StripeRow } from "../../core/routing-table.ts";
import { type StripeDbRow, toStripeRow } from "./tables.ts";

export interface StripeWithBuckets extends StripeRow {
  /** Buckets that the table gives this stripe as home. */
  readonly buckets: number;
}

/** All stripes by number, or only `stripe`. */
export async function listStripes(control: Knex, stripe?: number): Promise<StripeWithBuckets[]> {
  const query = control<StripeDbRow>("stripes").orderBy("stripe");
  const rows = (await (stripe === undefined ? query : query.where({ stripe }))) as StripeDbRow[];
  const counts = (await control("buckets").groupBy("stripe").select("stripe").count({ n: "*" })) as {
    stripe: number;
    n: number;
  }[];
  const byStripe = new Map(counts.map((c) => [c.stripe, Number(c.n)]));
  return rows.map((row) => ({ ...toStripeRow(row), buckets: byStripe.get(row.stripe) ?? 0 }));
}
