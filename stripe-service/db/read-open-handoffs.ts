// What the resolver works on. A number is open until its handoff is DONE.
import type { HandoffState } from "../../core/order-states.ts";
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow, Nullable } from "./tables.ts";

export type OpenState = Exclude<HandoffState, "DONE">;

export interface OpenBucket {
  readonly state: OpenState;
  readonly open_bucket: number;
}

/** The buckets of open handoffs, by state; from the key alone, however many handoffs there are. */
export async function readOpenBuckets(
  db: Db,
  states: readonly OpenState[],
  olderThanMs = 0,
): Promise<(FenceRow & Nullable<OpenBucket>)[]> {
  const old = "AND create_time <= UTC_TIMESTAMP(3) - INTERVAL ? * 1000 MICROSECOND";
  const distinct = states
    .map(() => `(SELECT DISTINCT state, bucket FROM handoffs WHERE state = ? ${olderThanMs === 0 ? "" : old})`)
    .join(" UNION ALL ");
  const [rows] = await db.query<(FenceRow & Nullable<OpenBucket> & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role, h.state, h.bucket AS open_bucket
       FROM stripe_state s JOIN ha.identity i LEFT JOIN (${distinct}) h ON TRUE WHERE s.id = 1`,
    states.flatMap((state) => (olderThanMs === 0 ? [state] : [state, olderThanMs])),
  );
  return rows;
}

export interface OpenHandoff {
  readonly open_bucket: number;
  readonly mchid: string;
  readonly out_trade_no: string;
  readonly transaction_id: string;
  /** SHA-256, hex. */
  readonly request_hash: string;
}

/** Where a page begins: after this key, in the order (bucket, mchid, out_trade_no). */
export interface OpenAfter {
  readonly bucket: number;
  readonly mchid: string;
  readonly outTradeNo: string;
}

/** One page of due handoffs of some buckets; at least one row, with nulls when there is none. */
export async function readOpenHandoffs(
  db: Db,
  state: OpenState,
  buckets: readonly number[],
  after: OpenAfter,
  limit: number,
): Promise<(FenceRow & Nullable<OpenHandoff>)[]> {
  const [rows] = await db.query<(FenceRow & Nullable<OpenHandoff> & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role, h.bucket AS open_bucket, h.mchid, h.out_trade_no,
            h.transaction_id, LOWER(HEX(h.request_hash)) AS request_hash
       FROM stripe_state s JOIN ha.identity i
       LEFT JOIN (SELECT bucket, mchid, out_trade_no, transaction_id, request_hash FROM handoffs
                   WHERE state = ? AND bucket IN (?) AND next_try <= UTC_TIMESTAMP(3)
                     AND (bucket > ? OR (bucket = ? AND (mchid > ? OR (mchid = ? AND out_trade_no > ?))))
                   ORDER BY bucket, mchid, out_trade_no LIMIT ?) h ON TRUE
      WHERE s.id = 1 ORDER BY h.bucket, h.mchid, h.out_trade_no`,
    [state, buckets, after.bucket, after.bucket, after.mchid, after.mchid, after.outTradeNo, limit],
  );
  return rows;
}
