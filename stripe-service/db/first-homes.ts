// The roles of all buckets of a stripe at once, for the first homes of a partition.
import type { BucketRole } from "../../core/order-states.ts";
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow } from "./tables.ts";

export interface BucketRoleRow {
  readonly bucket: number;
  readonly role: BucketRole;
  readonly move_epoch: number;
}

/** Every bucket that this stripe has had to do with; held until the transaction ends. */
export async function lockBucketRoles(db: Db): Promise<BucketRoleRow[]> {
  const [rows] = await db.query<(BucketRoleRow & RowDataPacket)[]>(
    "SELECT bucket, role, move_epoch FROM bucket_state ORDER BY bucket FOR UPDATE",
  );
  return rows;
}

/** Makes the stripe home to buckets. */
export async function upsertHomeBuckets(
  db: Db,
  rows: readonly (readonly [bucket: number, epoch: number])[],
): Promise<void> {
  await db.query(
    `INSERT INTO bucket_state (bucket, role, move_epoch) VALUES ? AS wanted
     ON DUPLICATE KEY UPDATE role = wanted.role, move_epoch = wanted.move_epoch`,
    [rows.map(([bucket, epoch]) => [bucket, "HOME", epoch])],
  );
}

/** The buckets that the stripe is home to, one a row; one row with null when there are none. */
export async function readHomeBuckets(db: Db): Promise<FenceRow[]> {
  const [rows] = await db.query<(FenceRow & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, b.bucket, b.role AS bucket_role
       FROM stripe_state s JOIN ha.identity i LEFT JOIN bucket_state b ON b.role = 'HOME' WHERE s.id = 1`,
  );
  return rows;
}
