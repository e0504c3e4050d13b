// The conditional updates of an order: each decides one race. They return whether the row was changed.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { CloseReason } from "../../core/order-states.ts";
import type { ResultSetHeader } from "../../runtime/mysql.ts";
import { type Db, exact } from "./db.ts";

export interface PaidBy {
  readonly transactionId: string;
  readonly outPayNo: string;
  readonly total: number;
  readonly currency: string;
  readonly successTime: Instant;
}

/** NOTPAY → SUCCESS, before `time_expire`, with equal amount and currency. */
export async function markOrderPaid(db: Db, paid: PaidBy, now: Instant): Promise<boolean> {
  const [result] = await db.execute<ResultSetHeader>(
    `UPDATE orders SET trade_state = 'SUCCESS', success_time = ?, out_pay_no = ?, version = version + 1
      WHERE transaction_id = ? AND trade_state = 'NOTPAY' AND time_expire > ? AND total = CAST(? AS UNSIGNED) AND currency = ?`,
    [toDbTime(paid.successTime), paid.outPayNo, paid.transactionId, toDbTime(now), exact(paid.total), paid.currency],
  );
  return result.affectedRows === 1;
}

/** NOTPAY → CLOSED. */
export async function markOrderClosed(
  db: Db,
  transactionId: string,
  reason: Exclude<CloseReason, "DUPLICATE">,
  now: Instant,
): Promise<boolean> {
  const [result] = await db.execute<ResultSetHeader>(
    `UPDATE orders SET trade_state = 'CLOSED', close_reason = ?, close_time = ?, version = version + 1
      WHERE transaction_id = ? AND trade_state = 'NOTPAY'`,
    [reason, toDbTime(now), transactionId],
  );
  return result.affectedRows === 1;
}

/**
 * Reserves an amount for a refund: paid, refunded + refunding + amount ≤ total, and fewer refunds than allowed.
 * @param amount minor units
 */
export async function reserveRefund(
  db: Db,
  transactionId: string,
  amount: number,
  refundsMax: number,
): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET refunding = refunding + ?, refund_count = refund_count + 1, version = version + 1
      WHERE transaction_id = ? AND trade_state IN ('SUCCESS', 'REFUND') AND refund_count < ?
        AND refunded + refunding + ? <= total`,
    [amount, transactionId, refundsMax, amount],
  );
  return result.affectedRows === 1;
}

/** Turns a reserved amount into a refunded one; the order is a REFUND from now on. */
export async function settleRefund(db: Db, transactionId: string, amount: number): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET refunding = refunding - ?, refunded = refunded + ?, trade_state = 'REFUND', version = version + 1
      WHERE transaction_id = ? AND trade_state IN ('SUCCESS', 'REFUND') AND refunding >= ?`,
    [amount, amount, transactionId, amount],
  );
  return result.affectedRows === 1;
}

/** Gives a reserved amount back. */
export async function releaseRefund(db: Db, transactionId: string, amount: number): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE orders SET refunding = refunding - ?, version = version + 1
      WHERE transaction_id = ? AND trade_state IN ('SUCCESS', 'REFUND') AND refunding >= ?`,
    [amount, transactionId, amount],
  );
  return result.affectedRows === 1;
}

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
