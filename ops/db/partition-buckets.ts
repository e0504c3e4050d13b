import type { Knex } from "knex";
import type { StripeNo } from "../../core/ids.ts";
import { BUCKET_COUNT } from "../../core/placement.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";

/** The bucket map of a partition: 1024 homes, null where none is set. */
export async function readBuckets(control: Knex, partition: string): Promise<(StripeNo | null)[]> {
  const map: (StripeNo | null)[] = Array<StripeNo | null>(BUCKET_COUNT).fill(null);
  const rows = (await control("buckets").where({ partition_name: partition }).select("bucket", "stripe")) as {
    bucket: number;
    stripe: number;
  }[];
  for (const row of rows) map[row.bucket] = row.stripe as StripeNo;
  return map;
}

/** Sets homes of buckets that have none; those that have one stay. */
export async function insertBuckets(
  control: Knex,
  partition: string,
  map: readonly (StripeNo | null)[],
): Promise<void> {
  const rows = map.flatMap((stripe, bucket) =>
    stripe === null ? [] : [{ partition_name: partition, bucket, stripe }],
  );
  await control.transaction(async (trx) => {
    await trx("buckets").insert(rows).onConflict(["partition_name", "bucket"]).ignore();
    await bumpRoutingVersion(trx);
  });
}
