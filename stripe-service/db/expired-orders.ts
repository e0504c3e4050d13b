// The two statements of the expiry sweep.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

export interface ExpiredRow extends RowDataPacket {
  readonly transaction_id: string;
  readonly mchid: string;
  readonly out_trade_no: string;
  readonly version: number;
}

/** Locks unpaid orders that are past `time_expire`, the longest past first; those that others hold are left out. */
export async function lockExpiredOrders(db: Db, now: Instant, limit: number): Promise<ExpiredRow[]> {
  const [rows] = await db.query<ExpiredRow[]>(
    `SELECT transaction_id, mchid, out_trade_no, version FROM orders FORCE INDEX (expiry)
      WHERE trade_state = 'NOTPAY' AND time_expire <= ? ORDER BY time_expire LIMIT ? FOR UPDATE SKIP LOCKED`,
    [toDbTime(now), limit],
  );
  return rows;
}

/** NOTPAY → CLOSED for expiry. @returns how many rows were changed */
export async function markOrdersExpired(db: Db, transactionIds: readonly string[], now: Instant): Promise<number> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET trade_state = 'CLOSED', close_reason = 'EXPIRED', close_time = ?, version = version + 1
      WHERE transaction_id IN (?) AND trade_state = 'NOTPAY' AND time_expire <= ?`,
    [toDbTime(now), transactionIds, toDbTime(now)],
  );
  return result.affectedRows;
}
