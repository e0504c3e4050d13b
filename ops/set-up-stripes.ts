// Puts stripes into the routing table and writes the rows that a new stripe needs in its own database. Used when a
// cluster is made and at each start of it; safe to run again.
import type { Knex } from "knex";
import { assignBuckets, BUCKET_COUNT } from "../core/placement.ts";
import { type StripeNo, stripeNo } from "../core/ids.ts";
import { DEFAULT_PARTITION } from "../core/routing-table.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import { openControl } from "./db/open-control.ts";
import { insertHomeBuckets, readHomeBuckets } from "./db/home-buckets.ts";
import { insertStripeState } from "./db/insert-stripe-state.ts";
import { insertBuckets, readBuckets } from "./db/partition-buckets.ts";
import { upsertStripe } from "./db/upsert-stripe.ts";

const DEFAULT_WEIGHT = 100;

export interface StripeSetup {
  readonly stripe: number;
  readonly place: number;
  readonly tripleId: string;
  /** Base URLs of the stripe's service instances. */
  readonly services: readonly string[];
  /** Whether it may become home to buckets that have none; it may by default. */
  readonly takesHomes?: boolean;
  /** The stripe's schema on its source, with an account that may write there. */
  readonly database: MysqlTarget;
}

/**
 * Registers stripes (new ones hot, weight 100, partition `standard`), seeds their own databases, and gives buckets that
 * have no home yet to them by weight. A stripe that is known keeps its temperature, weight, partition and block; its
 * service addresses are brought up to date. Buckets that have a home are never moved here.
 */
export async function setUpStripes(controlTarget: MysqlTarget, setups: readonly StripeSetup[]): Promise<void> {
  const control = openControl(controlTarget);
  try {
    for (const setup of setups) await insertStripeState(setup.database, setup.place, setup.tripleId);
    await giveFirstHomes(control, setups);
    for (const setup of setups) {
      await upsertStripe(control, { ...setup, weight: DEFAULT_WEIGHT, partition: DEFAULT_PARTITION });
    }
  } finally {
    await control.destroy();
  }
}

/**
 * The stripe's own rows are written before the table names it home: a crash in between leaves a stripe that is home
 * without being asked, which the next run reads and keeps; the other order could leave two homes of one bucket.
 */
async function giveFirstHomes(control: Knex, setups: readonly StripeSetup[]): Promise<void> {
  const table = await readBuckets(control, DEFAULT_PARTITION);
  if (table.every((home) => home !== null)) return;
  const current: (StripeNo | null)[] = [...table];
  for (const setup of setups) {
    for (const bucket of await readHomeBuckets(setup.database)) current[bucket] ??= stripeNo(setup.stripe);
  }
  const wanted = assignBuckets(
    current,
    setups.map((s) => ({ stripe: stripeNo(s.stripe), weight: s.takesHomes === false ? 0 : DEFAULT_WEIGHT })),
  );
  const next = current.map((home, bucket) => home ?? wanted[bucket] ?? null);
  for (const setup of setups) {
    const buckets = [...Array(BUCKET_COUNT).keys()].filter((b) => next[b] === setup.stripe && current[b] === null);
    if (buckets.length > 0) await insertHomeBuckets(setup.database, buckets);
  }
  await insertBuckets(control, DEFAULT_PARTITION, next);
}
