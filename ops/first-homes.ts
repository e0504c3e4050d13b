// Gives buckets of a partition that never had a home to the stripes that serve it, by weight.
import type { Knex } from "knex";
import { DomainError } from "../core/errors.ts";
import type { StripeNo } from "../core/ids.ts";
import { assignBuckets } from "../core/placement.ts";
import type { StripeRow } from "../core/routing-table.ts";
import { insertFirstHomes } from "./db/insert-first-homes.ts";
import { listStripes } from "./db/list-stripes.ts";
import { readBuckets } from "./db/partition-buckets.ts";
import { withLock } from "./db/with-lock.ts";
import type { Reconciler } from "./reconciler.ts";
import type { StripeClient } from "./stripe-client.ts";

const LOCK_WAIT_S = 3;

export interface FirstHomesDeps {
  readonly control: Knex;
  readonly stripes: StripeClient;
  readonly reconciler: Reconciler;
}

export interface Given {
  /** Buckets that got a home now; the others had one. */
  readonly given: number;
}

/**
 * The stripes' own rows are written before the table names them: a run that was cut off leaves stripes that are home
 * without being asked, which the next run reads from them and keeps. May be called again at any time.
 * @throws DomainError STATE_NOT_ALLOWED (no stripe with weight serves the partition), STRIPE_UNAVAILABLE (one of them
 *   does not answer: it may be home to some of the buckets already)
 */
export async function giveFirstHomes(
  deps: FirstHomesDeps,
  partition: string,
  by: { readonly actor: string; readonly requestId: string },
): Promise<Given> {
  const { control, stripes, reconciler } = deps;
  return withLock(control, `ops.first-homes.${partition}`, LOCK_WAIT_S, async () => {
    const table = await readBuckets(control, partition);
    if (table.every((home) => home !== null)) return { given: 0 };
    const rows = (await listStripes(control)).filter((row) => row.partition === partition);
    if (!rows.some((row) => row.weight > 0)) {
      throw new DomainError("STATE_NOT_ALLOWED", `no stripe with weight serves partition ${partition}`);
    }
    const current = [...table];
    for (const row of rows) {
      await reconciler.apply(row); // its own row must name the partition before it takes buckets of it
      for (const bucket of (await stripes.homeBuckets(row)) ?? away(row)) current[bucket] ??= row.stripe;
    }
    const wanted = assignBuckets(current, rows);
    const next = current.map((home, bucket) => home ?? wanted[bucket] ?? null);
    for (const row of rows) {
      const buckets = newOf(row.stripe, current, next);
      if (buckets.length > 0 && !(await stripes.takeFirstHomes(row, buckets))) away(row);
    }
    await insertFirstHomes(control, partition, next, by);
    return { given: table.filter((home) => home === null).length };
  });
}

function newOf(stripe: StripeNo, current: readonly (StripeNo | null)[], next: readonly (StripeNo | null)[]): number[] {
  return next.flatMap((home, bucket) => (home === stripe && current[bucket] === null ? [bucket] : []));
}

function away(row: StripeRow): never {
  throw new DomainError("STRIPE_UNAVAILABLE", `stripe ${row.stripe} does not answer; try again`, { retryAfterS: 1 });
}
