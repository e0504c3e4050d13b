// A refund reserves its amount in the order's row, in the transaction that writes the refund: refunded + refunding can
// never exceed the total, whatever runs beside it.
import { DomainError } from "../../core/errors.ts";
import { REFUNDS_PER_ORDER_MAX } from "../../core/order-states.ts";
import type { CreateRefund, Refund } from "../../core/schemas/orders.ts";
import { type Instant, toDbTime } from "../../core/time.ts";
import type { OrderRow, RefundRow } from "../db/tables.ts";
import { type Aggregate, refundByNo, refusal, type Step, withRefund } from "./aggregate.ts";
import { orderView, refundable, refundView } from "./order-view.ts";
import { done } from "./tx.ts";

export interface RefundAnswer {
  readonly refund: Refund;
  readonly replayed: boolean;
}

/**
 * Creates a refund, or recognises it by its `out_refund_no`.
 * @param refundId used only when the refund is new
 */
export function createRefund(
  state: Aggregate,
  refundId: string,
  asked: CreateRefund,
  now: Instant,
): Step<RefundAnswer> {
  const known = refundByNo(state, asked.out_refund_no);
  if (known !== undefined) return replay(state, known, asked, now);
  const fault = requestFault(state.order, asked) ?? whyNot(state.order, asked, now);
  if (fault !== undefined) return refusal(state, fault);
  const amount = asked.amount.refund;
  const order: OrderRow = {
    ...state.order,
    refunding: state.order.refunding + amount,
    refund_count: state.order.refund_count + 1,
    version: state.order.version + 1,
  };
  const refund: RefundRow = {
    refund_id: refundId,
    transaction_id: order.transaction_id,
    out_refund_no: asked.out_refund_no,
    refund: amount,
    reason: asked.reason ?? null,
    status: "PROCESSING",
    refund_create_time: toDbTime(now),
    refund_success_time: null,
    refund_version: 1,
  };
  const event = {
    type: "REFUND_CREATED" as const,
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version,
    data: { refund_id: refundId, out_refund_no: asked.out_refund_no, refund: amount, currency: order.currency },
  };
  return {
    outcome: done({ refund: refundView(refund, order), replayed: false }),
    after: withRefund(state, order, refund),
    writes: { events: [event], newRefund: refund },
  };
}

function replay(state: Aggregate, known: RefundRow, asked: CreateRefund, now: Instant): Step<RefundAnswer> {
  const { order } = state;
  const { amount } = asked;
  const fields = [
    ...(known.refund === amount.refund ? [] : ["amount.refund"]),
    ...(order.total === amount.total ? [] : ["amount.total"]),
    ...(order.currency === amount.currency ? [] : ["amount.currency"]),
    ...(known.reason === (asked.reason ?? null) ? [] : ["reason"]),
  ];
  if (fields.length === 0) return { outcome: done({ refund: refundView(known, order), replayed: true }), after: state };
  const used = new DomainError("OUT_REFUND_NO_USED", "the refund number was used with other content", {
    conflict: { refund_id: known.refund_id, fields },
    order: orderView(order, now),
  });
  return refusal(state, used);
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

/** Why the amount cannot be reserved, or undefined. Sums could leave the integers that are exact: only subtract. */
function whyNot(row: OrderRow, { amount }: CreateRefund, now: Instant): DomainError | undefined {
  if (row.trade_state === "NOTPAY" || row.trade_state === "CLOSED") {
    return new DomainError("ORDER_NOT_PAID", "only a paid order can be refunded", { order: orderView(row, now) });
  }
  if (row.refund_count >= REFUNDS_PER_ORDER_MAX) {
    return new DomainError("REFUND_COUNT_EXCEEDED", `an order has at most ${REFUNDS_PER_ORDER_MAX} refunds`, {
      order: orderView(row, now),
    });
  }
  if (amount.refund <= refundable(row)) return undefined;
  return new DomainError("REFUND_AMOUNT_EXCEEDED", `${refundable(row)} can be refunded`, {
    order: orderView(row, now),
    conflict: { refundable: refundable(row) },
  });
}
