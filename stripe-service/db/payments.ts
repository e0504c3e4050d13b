// Payments of orders, and payments in excess (money that moved in the channel without an order to pay).
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ExcessReason } from "../../core/order-states.ts";
import type { PayOrder } from "../../core/schemas/orders.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import { type Db, exact } from "./db.ts";
import { PAYMENT_COLUMNS, type PaymentRow } from "./tables.ts";

function paymentValues(pay: PayOrder): (string | null)[] {
  return [
    pay.out_pay_no,
    exact(pay.amount.total),
    pay.amount.currency,
    pay.payer?.openid ?? null,
    pay.channel ?? null,
    pay.channel_transaction_id ?? null,
    pay.success_time === undefined ? null : toDbTime(pay.success_time),
  ];
}

/** Writes the one payment of an order. */
export async function insertPayment(db: Db, transactionId: string, pay: PayOrder, now: Instant): Promise<void> {
  await db.execute(
    `INSERT INTO payments (transaction_id, ${PAYMENT_COLUMNS}, create_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [transactionId, ...paymentValues(pay), toDbTime(now)],
  );
}

export async function selectPayment(db: Db, transactionId: string): Promise<PaymentRow | undefined> {
  const [[row]] = await db.query<(PaymentRow & RowDataPacket)[]>(
    `SELECT ${PAYMENT_COLUMNS} FROM payments WHERE transaction_id = ?`,
    [transactionId],
  );
  return row;
}

/** Writes an excess payment unless (order, out_pay_no) has one. @returns whether it was written */
export async function insertExcess(
  db: Db,
  transactionId: string,
  reason: ExcessReason,
  pay: PayOrder,
  now: Instant,
): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `INSERT INTO excess_payments (transaction_id, reason, ${PAYMENT_COLUMNS}, create_time) VALUES (?)
     ON DUPLICATE KEY UPDATE transaction_id = transaction_id`,
    [[transactionId, reason, ...paymentValues(pay), toDbTime(now)]],
  );
  return result.affectedRows === 1;
}

export async function selectExcess(db: Db, transactionId: string, outPayNo: string): Promise<PaymentRow | undefined> {
  const [[row]] = await db.query<(PaymentRow & RowDataPacket)[]>(
    `SELECT ${PAYMENT_COLUMNS} FROM excess_payments WHERE transaction_id = ? AND out_pay_no = ?`,
    [transactionId, outPayNo],
  );
  return row;
}

/** Records the payment of a paid order, which another paid order supersedes, as money to give back. */
export async function insertExcessOfPayment(db: Db, transactionId: string, now: Instant): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `INSERT INTO excess_payments (transaction_id, reason, ${PAYMENT_COLUMNS}, create_time)
     SELECT transaction_id, 'SUPERSEDED', ${PAYMENT_COLUMNS}, ? FROM payments WHERE transaction_id = ?`,
    [toDbTime(now), transactionId],
  );
  return result.affectedRows === 1;
}
