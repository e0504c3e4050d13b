// Reading and locking the rows of many orders at once.
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { asciiLiteral, rowList, textLiteral } from "./literals.ts";
import {
  ORDER_COLUMNS,
  type OrderRow,
  PAYMENT_COLUMNS,
  type PaymentRow,
  REFUND_COLUMNS,
  type RefundRow,
} from "./tables.ts";

/** `WAIT` waits for rows that somebody holds, `SKIP` leaves them out, `NONE` reads what is committed. */
export type RowLock = "WAIT" | "SKIP" | "NONE";

const LOCKS: Readonly<Record<RowLock, string>> = { WAIT: " FOR UPDATE", SKIP: " FOR UPDATE SKIP LOCKED", NONE: "" };

function idList(ids: readonly string[]): string {
  return ids.map(asciiLiteral).join(", ");
}

/** The orders with these numbers, locked until the transaction ends; in the order of the primary key. */
export function selectOrdersSql(ids: readonly string[], lock: RowLock): string {
  return `SELECT ${ORDER_COLUMNS} FROM orders o FORCE INDEX (PRIMARY) WHERE o.transaction_id IN (${idList(ids)})
      ORDER BY o.transaction_id${LOCKS[lock]}`;
}

export async function selectOrders(db: Db, ids: readonly string[], lock: RowLock): Promise<OrderRow[]> {
  if (ids.length === 0) return [];
  const [rows] = await db.query<(OrderRow & RowDataPacket)[]>(selectOrdersSql(ids, lock));
  return rows;
}

/** Which of these numbers are orders here. */
export async function selectKnownIds(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const [rows] = await db.query<({ transaction_id: string } & RowDataPacket)[]>(
    `SELECT transaction_id FROM orders WHERE transaction_id IN (${idList(ids)})`,
  );
  return new Set(rows.map((row) => row.transaction_id));
}

export type OwnedPaymentRow = PaymentRow & { readonly transaction_id: string };
export type Pair = readonly [transactionId: string, no: string];

export async function selectPayments(db: Db, ids: readonly string[]): Promise<OwnedPaymentRow[]> {
  if (ids.length === 0) return [];
  const [rows] = await db.query<(OwnedPaymentRow & RowDataPacket)[]>(
    `SELECT transaction_id, ${PAYMENT_COLUMNS} FROM payments WHERE transaction_id IN (${idList(ids)})`,
  );
  return rows;
}

/** Excess payments by order and payment number. */
export async function selectExcessPayments(db: Db, pairs: readonly Pair[]): Promise<OwnedPaymentRow[]> {
  if (pairs.length === 0) return [];
  const list = rowList(pairs.map(([id, no]) => [asciiLiteral(id), textLiteral(no)]));
  const [rows] = await db.query<(OwnedPaymentRow & RowDataPacket)[]>(
    `SELECT transaction_id, ${PAYMENT_COLUMNS} FROM excess_payments WHERE (transaction_id, out_pay_no) IN (${list})`,
  );
  return rows;
}

/** Refunds by order and refund number of the merchant. */
export async function selectRefundsByNo(db: Db, pairs: readonly Pair[]): Promise<RefundRow[]> {
  if (pairs.length === 0) return [];
  const list = rowList(pairs.map(([id, no]) => [asciiLiteral(id), textLiteral(no)]));
  const [rows] = await db.query<(RefundRow & RowDataPacket)[]>(
    `SELECT ${REFUND_COLUMNS} FROM refunds r WHERE (r.transaction_id, r.out_refund_no) IN (${list})`,
  );
  return rows;
}

export async function selectRefunds(db: Db, refundIds: readonly string[]): Promise<RefundRow[]> {
  if (refundIds.length === 0) return [];
  const [rows] = await db.query<(RefundRow & RowDataPacket)[]>(
    `SELECT ${REFUND_COLUMNS} FROM refunds r WHERE r.refund_id IN (${idList(refundIds)})`,
  );
  return rows;
}
