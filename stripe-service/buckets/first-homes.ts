// A stripe becomes home to buckets that no stripe of its partition was ever home to. It may have held the same bucket
// numbers in another partition before: those rows say MOVED, and the index rows that are left of them are older than
// anything that can be asked here, or belong to merchants who are not.
import { DomainError } from "../../core/errors.ts";
import { lockBucketRoles, upsertHomeBuckets } from "../db/first-homes.ts";
import { selectMoving } from "../db/bucket-state.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";

/**
 * Makes the stripe home to `buckets`; those that it is home to already stay. Whoever asks makes sure that no other
 * stripe of the partition has them. The fence must have been read FOR UPDATE.
 * @param partition must be what the stripe's own row says (else STATE_NOT_ALLOWED): callers with an older table are
 *   refused by that row, so that the same bucket number of two partitions never mixes
 */
export async function takeFirstHomes(
  tx: Tx,
  partition: string,
  buckets: readonly number[],
): Promise<Outcome<{ readonly taken: number }>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  if (tx.fence.partition !== partition) {
    return refused(notNow(`the stripe's own row says partition ${tx.fence.partition ?? "nothing"}`));
  }
  if (await selectMoving(tx.db)) return refused(notNow("the stripe itself is on the move"));
  const known = new Map((await lockBucketRoles(tx.db)).map((row) => [row.bucket, row]));
  if (buckets.some((bucket) => known.get(bucket)?.role === "IMPORTING")) {
    return refused(notNow("one of the buckets is being moved here"));
  }
  const taken = buckets
    .filter((bucket) => known.get(bucket)?.role !== "HOME")
    // The epoch of the move that took it away stays: no step of that move is done again, and every later one has a newer.
    .map((bucket) => [bucket, known.get(bucket)?.move_epoch ?? 0] as const);
  if (taken.length === 0) return done({ taken: 0 });
  await upsertHomeBuckets(tx.db, taken);
  await tx.journal(
    ...taken.map(([bucket, epoch]) => ({
      type: "BUCKET_ROLE_CHANGED" as const,
      data: { bucket, role: "HOME", move_epoch: epoch, partition },
    })),
  );
  return done({ taken: taken.length });
}

function notNow(detail: string): DomainError {
  return new DomainError("STATE_NOT_ALLOWED", detail);
}
