// A refund reserves its amount in the order's row, in the transaction that writes the refund: refunded + refunding can
// never exceed the total, whatever runs beside it.
import { DomainError } from "../../core/errors.ts";
import { REFUNDS_PER_ORDER_MAX } from "../../core/order-states.ts";
import type { CreateRefund, Refund } from "../../core/schemas/orders.ts";
import { insertRefund, selectRefund, selectRefundByNo } from "../db/refunds.ts";
import { selectOrder } from "../db/select-order.ts";
import type { OrderRow, RefundRow } from "../db/tables.ts";
import { reserveRefund } from "../db/update-order.ts";
import { orderNotExist } from "./not-exist.ts";
import { orderView, refundable, refundView } from "./order-view.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "./tx.ts";

export interface RefundInput {
  readonly transactionId: string;
  /** Used only when the refund is new. */
  readonly refundId: string;
  readonly refund: CreateRefund;
}

export interface RefundResultValue {
  readonly refund: Refund;
  readonly replayed: boolean;
}

/** Creates a refund, or recognises it by its `out_refund_no`. */
export async function createRefund(tx: Tx, input: RefundInput): Promise<Outcome<RefundResultValue>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const { transactionId, refundId, refund } = input;
  // The order's lock comes first, so that of two equal requests the second sees the first one's refund.
  const order = await selectOrder(tx.db, transactionId, "UPDATE");
  if (order === undefined) return refused(orderNotExist());
  const known = await selectRefundByNo(tx.db, transactionId, refund.out_refund_no);
  if (known !== undefined) return replay(tx, order, known, refund);
  const fault = requestFault(order, refund);
  if (fault !== undefined) return refused(fault);
  const amount = refund.amount.refund;
  if (!(await reserveRefund(tx.db, transactionId, amount, REFUNDS_PER_ORDER_MAX))) return refused(whyNot(tx, order));
  const { out_refund_no: outRefundNo, reason = null } = refund;
  await insertRefund(tx.db, { refundId, transactionId, outRefundNo, refund: amount, reason }, tx.now);
  await tx.journal({
    type: "REFUND_CREATED",
    transactionId,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version + 1,
    data: { refund_id: refundId, out_refund_no: outRefundNo, refund: amount, currency: order.currency },
  });
  const row = await selectRefund(tx.db, refundId);
  if (row === undefined) throw new Error("a refund that was written has no row");
  return done({ refund: refundView(row, order), replayed: false });
}

function replay(tx: Tx, order: OrderRow, known: RefundRow, refund: CreateRefund): Outcome<RefundResultValue> {
  const same =
    known.refund === refund.amount.refund &&
    order.total === refund.amount.total &&
    order.currency === refund.amount.currency &&
    known.reason === (refund.reason ?? null);
  if (same) return done({ refund: refundView(known, order), replayed: true });
  return refused(
    new DomainError("OUT_REFUND_NO_USED", "the refund number was used with other content", {
      conflict: { refund_id: known.refund_id },
      order: orderView(order, tx.now),
    }),
  );
}

function requestFault(order: OrderRow, { amount }: CreateRefund): DomainError | undefined {
  if (amount.currency !== order.currency) {
    return new DomainError("CURRENCY_MISMATCH", `the order is in ${order.currency}`, {
      errors: [{ pointer: "/amount/currency", issue: `the order is in ${order.currency}` }],
    });
  }
  if (amount.total !== order.total) {
    return new DomainError("AMOUNT_MISMATCH", `the order's total is ${order.total}`, {
      errors: [{ pointer: "/amount/total", issue: `the order's total is ${order.total}` }],
    });
  }
  return undefined;
}

/** Why nothing was reserved. The order's row is locked, so it is as the UPDATE saw it. */
function whyNot(tx: Tx, row: OrderRow): DomainError {
  const order = orderView(row, tx.now);
  if (row.trade_state === "NOTPAY" || row.trade_state === "CLOSED") {
    return new DomainError("ORDER_NOT_PAID", "only a paid order can be refunded", { order });
  }
  if (row.refund_count >= REFUNDS_PER_ORDER_MAX) {
    return new DomainError("REFUND_COUNT_EXCEEDED", `an order has at most ${REFUNDS_PER_ORDER_MAX} refunds`, { order });
  }
  return new DomainError("REFUND_AMOUNT_EXCEEDED", `${refundable(row)} can be refunded`, {
    order,
    conflict: { refundable: refundable(row) },
  });
}
