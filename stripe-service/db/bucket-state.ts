// The role of one bucket in this stripe, as its moves read and change it.
import type { BucketRole } from "../../core/order-states.ts";
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

export interface BucketStateRow {
  readonly role: BucketRole;
  readonly move_epoch: number;
}

/**
 * The bucket's row, or undefined.
 * @param lock `SHARE` keeps the role as it is until the transaction ends; `UPDATE` waits for all who keep it
 */
export async function selectBucketState(
  db: Db,
  bucket: number,
  lock: "SHARE" | "UPDATE",
): Promise<BucketStateRow | undefined> {
  const [[row]] = await db.query<(BucketStateRow & RowDataPacket)[]>(
    `SELECT role, move_epoch FROM bucket_state WHERE bucket = ? FOR ${lock}`,
    [bucket],
  );
  return row;
}

export async function upsertBucketState(db: Db, bucket: number, role: BucketRole, moveEpoch: number): Promise<void> {
  await db.query(
    `INSERT INTO bucket_state (bucket, role, move_epoch) VALUES (?, ?, ?) AS wanted
     ON DUPLICATE KEY UPDATE role = wanted.role, move_epoch = wanted.move_epoch`,
    [bucket, role, moveEpoch],
  );
}

/** Whether the stripe itself is on the move: its small tables must then stay as they are. */
export async function selectMoving(db: Db): Promise<boolean> {
  const [[row]] = await db.query<(RowDataPacket & { moving: number })[]>(
    "SELECT moving FROM stripe_state WHERE id = 1 FOR SHARE",
  );
  return row?.moving === 1;
}
