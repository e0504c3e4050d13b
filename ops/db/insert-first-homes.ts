import type { Knex } from "knex";
import type { BucketMap } from "../../core/placement.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import { insertAudit } from "./insert-audit.ts";

/** Names homes of buckets that have none in the table; those that have one stay. */
export async function insertFirstHomes(
  control: Knex,
  partition: string,
  map: BucketMap,
  by: { readonly actor: string; readonly requestId: string },
): Promise<void> {
  const rows = map.flatMap((stripe, bucket) =>
    stripe === null ? [] : [{ partition_name: partition, bucket, stripe }],
  );
  const shares: Record<string, number> = {};
  for (const { stripe } of rows) shares[stripe] = (shares[stripe] ?? 0) + 1;
  await control.transaction(async (trx) => {
    await trx("buckets").insert(rows).onConflict(["partition_name", "bucket"]).ignore();
    await bumpRoutingVersion(trx);
    const subject = `partition/${partition}`;
    await insertAudit(trx, { ...by, action: "partition.first-homes", subject, before: null, after: shares });
  });
}
