// The conditional updates that settle jumped orders: each decides one race. They return whether the row was changed.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

/** NOTPAY → CLOSED because another order stands for the number; `superseded_by` by the same statement. */
export async function closeAsDuplicate(db: Db, transactionId: string, by: string, now: Instant): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET trade_state = 'CLOSED', close_reason = 'DUPLICATE', superseded_by = ?, close_time = ?,
        version = version + 1
      WHERE transaction_id = ? AND trade_state = 'NOTPAY'`,
    [by, toDbTime(now), transactionId],
  );
  return result.affectedRows === 1;
}

/** Names the order that stands for the number in an order that is not open; set once, never changed. */
export async function markSuperseded(db: Db, transactionId: string, by: string): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET superseded_by = ?, version = version + 1
      WHERE transaction_id = ? AND superseded_by IS NULL AND trade_state <> 'NOTPAY'`,
    [by, transactionId],
  );
  return result.affectedRows === 1;
}
