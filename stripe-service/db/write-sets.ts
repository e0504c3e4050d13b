// The writing statements of a batch, each for many rows.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ExcessReason } from "../../core/order-states.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { asciiLiteral, integerLiteral, rowList, textLiteral } from "./literals.ts";
import type { WriteStatement } from "./script.ts";
import { type OrderRow, PAYMENT_COLUMNS, type PaymentRow, type RefundRow } from "./tables.ts";

export interface NewOrder {
  readonly transactionId: string;
  readonly order: CreateOrder;
  readonly createTime: Instant;
  readonly timeExpire: Instant;
}

/** Unpaid orders of version 1, in the order of the primary key. */
export function insertOrders(orders: readonly NewOrder[]): WriteStatement {
  const rows = orders.map(({ transactionId, order, createTime, timeExpire }) => [
    asciiLiteral(transactionId),
    textLiteral(order.mchid),
    textLiteral(order.out_trade_no),
    textLiteral(order.description),
    textLiteral(order.attach),
    textLiteral(order.payer?.openid),
    textLiteral(order.notify_url),
    integerLiteral(order.amount.total),
    textLiteral(order.amount.currency),
    "'NOTPAY'",
    textLiteral(toDbTime(createTime)),
    textLiteral(toDbTime(timeExpire)),
    order.time_expire === undefined ? "0" : "1",
    "1",
  ]);
  const sql = `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url,
      total, currency, trade_state, create_time, time_expire, time_expire_given, version) VALUES ${rowList(rows)}`;
  return { sql };
}

export interface ChangedOrder {
  /** The version that was read; the row is held, so it still has it. */
  readonly was: number;
  readonly now: OrderRow;
}

/** What operations may change in an order's row. `superseded_by` is not among it: only settling sets it. */
const CHANGING =
  "version, trade_state, close_reason, success_time, close_time, out_pay_no, refunded, refunding, refund_count".split(
    ", ",
  );

/** Writes changed orders back, each only over the version that was read. */
export function updateOrders(changes: readonly ChangedOrder[]): WriteStatement {
  const rows = changes.map(({ was, now }) => [
    asciiLiteral(now.transaction_id),
    integerLiteral(was),
    integerLiteral(now.version),
    textLiteral(now.trade_state),
    textLiteral(now.close_reason),
    textLiteral(now.success_time),
    textLiteral(now.close_time),
    textLiteral(now.out_pay_no),
    integerLiteral(now.refunded),
    integerLiteral(now.refunding),
    integerLiteral(now.refund_count),
  ]);
  const sql = `UPDATE orders o JOIN (VALUES ${rows.map((row) => `ROW(${row.join(", ")})`).join(", ")})
      AS v (transaction_id, was, ${CHANGING.join(", ")}) ON o.transaction_id = v.transaction_id
     SET ${CHANGING.map((column) => `o.${column} = v.${column}`).join(", ")} WHERE o.version = v.was`;
  return { sql, rows: rows.length };
}

export interface NewPayment {
  readonly transactionId: string;
  readonly payment: PaymentRow;
}

function paymentLiterals(payment: PaymentRow): string[] {
  return [
    textLiteral(payment.out_pay_no),
    integerLiteral(payment.total),
    textLiteral(payment.currency),
    textLiteral(payment.payer_openid),
    textLiteral(payment.channel),
    textLiteral(payment.channel_transaction_id),
    textLiteral(payment.success_time),
  ];
}

/** The one payment of each of these orders. */
export function insertPayments(payments: readonly NewPayment[], now: Instant): WriteStatement {
  const time = textLiteral(toDbTime(now));
  const rows = payments.map(({ transactionId, payment }) => [
    asciiLiteral(transactionId),
    ...paymentLiterals(payment),
    time,
  ]);
  const sql = `INSERT INTO payments (transaction_id, ${PAYMENT_COLUMNS}, create_time) VALUES ${rowList(rows)}`;
  return { sql };
}

export type NewExcess = NewPayment & { readonly reason: ExcessReason };

/** Money to give back. */
export function insertExcessPayments(excess: readonly NewExcess[], now: Instant): WriteStatement {
  const time = textLiteral(toDbTime(now));
  const rows = excess.map(({ transactionId, reason, payment }) => [
    asciiLiteral(transactionId),
    textLiteral(reason),
    ...paymentLiterals(payment),
    time,
  ]);
  const sql = `INSERT INTO excess_payments (transaction_id, reason, ${PAYMENT_COLUMNS}, create_time) VALUES ${rowList(rows)}`;
  return { sql };
}

/** New refunds. */
export function insertRefunds(refunds: readonly RefundRow[]): WriteStatement {
  const rows = refunds.map((r) => [
    asciiLiteral(r.refund_id),
    asciiLiteral(r.transaction_id),
    textLiteral(r.out_refund_no),
    integerLiteral(r.refund),
    textLiteral(r.reason),
    textLiteral(r.status),
    textLiteral(r.refund_create_time),
    textLiteral(r.refund_success_time),
    integerLiteral(r.refund_version),
  ]);
  const sql = `INSERT INTO refunds (refund_id, transaction_id, out_refund_no, refund, reason, status, create_time,
      success_time, version) VALUES ${rowList(rows)}`;
  return { sql };
}

export interface ChangedRefund {
  readonly was: number;
  readonly now: RefundRow;
}

/** Results of refunds; their orders are held, and with them the refunds. */
export function updateRefunds(changes: readonly ChangedRefund[]): WriteStatement {
  const rows = changes.map(({ was, now }) => [
    asciiLiteral(now.refund_id),
    integerLiteral(was),
    integerLiteral(now.refund_version),
    textLiteral(now.status),
    textLiteral(now.refund_success_time),
  ]);
  const sql = `UPDATE refunds r JOIN (VALUES ${rows.map((row) => `ROW(${row.join(", ")})`).join(", ")})
      AS v (refund_id, was, version, status, success_time) ON r.refund_id = v.refund_id
     SET r.version = v.version, r.status = v.status, r.success_time = v.success_time WHERE r.version = v.was`;
  return { sql, rows: rows.length };
}
