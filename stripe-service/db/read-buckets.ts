// Reads of a bucket's role and rows, with the fence in the same snapshot.
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { IndexRow } from "./index-rows.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow, Nullable } from "./tables.ts";

export interface BucketColumns {
  readonly move_epoch: number | null;
}

export async function readBucketState(db: Db, bucket: number): Promise<(FenceRow & BucketColumns)[]> {
  const [rows] = await db.query<(FenceRow & BucketColumns & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, b.bucket, b.role AS bucket_role, b.move_epoch
       FROM stripe_state s JOIN ha.identity i LEFT JOIN bucket_state b ON b.bucket = ? WHERE s.id = 1`,
    [bucket],
  );
  return rows;
}

/** Where a page begins: after this key, in the order of the primary key. */
export interface RowsAfter {
  readonly mchid: string;
  readonly outTradeNo: string;
}

/** One page of a bucket's index rows, at least one row with nulls in place of the index's columns. */
export async function readBucketRows(
  db: Db,
  bucket: number,
  after: RowsAfter,
  limit: number,
): Promise<(FenceRow & BucketColumns & Nullable<IndexRow>)[]> {
  const [rows] = await db.query<(FenceRow & BucketColumns & Nullable<IndexRow> & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, b.bucket, b.role AS bucket_role, b.move_epoch, k.mchid, k.out_trade_no,
            k.transaction_id, LOWER(HEX(k.request_hash)) AS request_hash
       FROM stripe_state s JOIN ha.identity i LEFT JOIN bucket_state b ON b.bucket = ?
       LEFT JOIN (SELECT mchid, out_trade_no, transaction_id, request_hash FROM merchant_orders
                   WHERE bucket = ? AND mchid >= ? AND (mchid > ? OR out_trade_no > ?)
                   ORDER BY mchid, out_trade_no LIMIT ?) k ON TRUE
      WHERE s.id = 1 ORDER BY k.mchid, k.out_trade_no`,
    [bucket, bucket, after.mchid, after.mchid, after.outTradeNo, limit],
  );
  return rows;
}
