// The control plane's record of bucket moves. A move is opened before anything is done in the stripes, so that whoever
// goes on with it uses the same epoch, and no second move of the bucket begins.
import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import { insertAudit } from "./insert-audit.ts";

export interface BucketMove {
  readonly moveEpoch: number;
  readonly partition: string;
  readonly bucket: number;
  readonly from: number;
  readonly to: number;
}

interface MoveDbRow {
  move_epoch: number;
  from_stripe: number;
  to_stripe: number;
}

/**
 * Opens a move of a bucket to a new home, or finds the one that is open.
 * @returns null when the bucket is at home there already
 * @throws DomainError STATE_NOT_ALLOWED when a move to another stripe is open, or the bucket has no home
 */
export async function openBucketMove(
  control: Knex,
  partition: string,
  bucket: number,
  to: number,
): Promise<BucketMove | null> {
  return control.transaction(async (trx) => {
    const where = { partition_name: partition, bucket };
    const home = (await trx("buckets").where(where).forUpdate().first("stripe")) as { stripe: number } | undefined;
    if (home === undefined) throw new DomainError("STATE_NOT_ALLOWED", `bucket ${bucket} has no home to move from`);
    const found = (await trx("bucket_moves")
      .where({ ...where, state: "OPEN" })
      .first()) as MoveDbRow | undefined;
    if (found !== undefined) {
      if (found.to_stripe !== to) {
        throw new DomainError("STATE_NOT_ALLOWED", `bucket ${bucket} is on its way to stripe ${found.to_stripe}`);
      }
      return { moveEpoch: found.move_epoch, partition, bucket, from: found.from_stripe, to };
    }
    if (home.stripe === to) return null;
    const [moveEpoch] = await trx("bucket_moves").insert({
      ...where,
      from_stripe: home.stripe,
      to_stripe: to,
      state: "OPEN",
      create_time: trx.raw("UTC_TIMESTAMP(3)"),
    });
    if (moveEpoch === undefined) throw new Error("no move_epoch was given");
    return { moveEpoch, partition, bucket, from: home.stripe, to };
  });
}

/** The stripes have moved: the table names the new home. Again: nothing changes. */
export async function finishBucketMove(control: Knex, move: BucketMove, actor: string): Promise<void> {
  await control.transaction(async (trx) => {
    const closed = await trx("bucket_moves")
      .where({ move_epoch: move.moveEpoch, state: "OPEN" })
      .update({ state: "DONE", finish_time: trx.raw("UTC_TIMESTAMP(3)") });
    if (closed === 0) return;
    await trx("buckets").where({ partition_name: move.partition, bucket: move.bucket }).update({ stripe: move.to });
    await bumpRoutingVersion(trx);
    await insertAudit(trx, {
      actor,
      action: "bucket.move",
      subject: `bucket/${move.partition}/${move.bucket}`,
      before: { stripe: move.from },
      after: { stripe: move.to, move_epoch: move.moveEpoch },
      requestId: null,
    });
  });
}

/** Partitions in which moves were begun and not finished. */
export async function partitionsWithOpenMoves(control: Knex): Promise<string[]> {
  const rows = (await control("bucket_moves").where({ state: "OPEN" }).distinct("partition_name")) as {
    partition_name: string;
  }[];
  return rows.map(({ partition_name: partition }) => partition);
}

/** Moves that were begun and not finished, the oldest first. */
export async function listOpenMoves(control: Knex, partition: string): Promise<BucketMove[]> {
  const rows = (await control("bucket_moves")
    .where({ partition_name: partition, state: "OPEN" })
    .orderBy("move_epoch")) as (MoveDbRow & { bucket: number })[];
  return rows.map((row) => ({
    moveEpoch: row.move_epoch,
    partition,
    bucket: row.bucket,
    from: row.from_stripe,
    to: row.to_stripe,
  }));
}
