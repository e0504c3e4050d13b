// Pay looks at nothing but its own order: who comes first pays, who loses is told what it lost to. Money that moved in
// the channel without an order to pay is recorded as excess in the same transaction.
import { DomainError, type ErrorCode } from "../../core/errors.ts";
import type { ExcessReason } from "../../core/order-states.ts";
import type { Order, PayOrder } from "../../core/schemas/orders.ts";
import { type Instant, toDbTime } from "../../core/time.ts";
import type { OrderRow, PaymentRow } from "../db/tables.ts";
import { type Aggregate, refusal, type Step } from "./aggregate.ts";
import { isExpired, orderView } from "./order-view.ts";
import { done } from "./tx.ts";

export interface OrderAnswer {
  readonly order: Order;
  readonly replayed: boolean;
}

/** Whether a payment of any amount could make this order paid. */
export function isPayable(order: OrderRow, now: Instant): boolean {
  return order.trade_state === "NOTPAY" && !isExpired(order, now);
}

/** Whether the answer to this payment depends on excess payments: with any other it need not know them. */
export function isPaidBy(order: OrderRow, outPayNo: string): boolean {
  return (order.trade_state === "SUCCESS" || order.trade_state === "REFUND") && order.out_pay_no === outPayNo;
}

/** Records a payment. */
export function payOrder(state: Aggregate, pay: PayOrder, now: Instant): Step<OrderAnswer> {
  const { order } = state;
  if (isPayable(order, now)) {
    const mismatch = amountMismatch(order, pay);
    return mismatch === undefined ? paid(state, pay, now) : refusal(state, mismatch);
  }
  if (isPaidBy(order, pay.out_pay_no)) {
    if (state.payment === undefined) throw new Error(`the payment of ${order.transaction_id} is missing`);
    const fields = differing(state.payment, pay);
    if (fields.length > 0) return refusal(state, outPayNoUsed(order, now, fields));
    return { outcome: done({ order: orderView(order, now), replayed: true }), after: state };
  }
  switch (order.trade_state) {
    case "SUCCESS":
    case "REFUND":
      return excess(state, pay, now, "DUPLICATE", "ORDER_PAID", "the order is paid by another payment");
    case "CLOSED":
      return excess(state, pay, now, "LATE", "ORDER_CLOSED", "the order is closed");
    case "NOTPAY":
      return excess(state, pay, now, "LATE", "ORDER_EXPIRED", "time_expire has passed");
    default:
      return order.trade_state satisfies never;
  }
}

function paid(state: Aggregate, pay: PayOrder, now: Instant): Step<OrderAnswer> {
  const successTime = pay.success_time ?? now;
  const order: OrderRow = {
    ...state.order,
    trade_state: "SUCCESS",
    success_time: toDbTime(successTime),
    out_pay_no: pay.out_pay_no,
    version: state.order.version + 1,
  };
  const payment = paymentRow(pay);
  const event = {
    type: "ORDER_PAID" as const,
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version,
    data: { ...paymentFacts(pay), success_time: successTime },
  };
  return {
    outcome: done({ order: orderView(order, now), replayed: false }),
    after: { ...state, order, payment },
    writes: { events: [event], payment: { transactionId: order.transaction_id, payment } },
  };
}

function excess(
  state: Aggregate,
  pay: PayOrder,
  now: Instant,
  reason: ExcessReason,
  code: ErrorCode,
  detail: string,
): Step<OrderAnswer> {
  const { order } = state;
  const known = state.excess.get(pay.out_pay_no);
  const fields = known === undefined ? [] : differing(known, pay);
  if (fields.length > 0) return refusal(state, outPayNoUsed(order, now, fields));
  const superseded = order.superseded_by === null ? {} : { conflict: { superseded_by: order.superseded_by } };
  const step = refusal<OrderAnswer>(
    state,
    new DomainError(code, detail, { order: orderView(order, now), ...superseded }),
  );
  if (known !== undefined) return step;
  const payment = paymentRow(pay);
  const event = {
    type: "EXCESS_PAYMENT" as const,
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version,
    data: { ...paymentFacts(pay), reason },
  };
  return {
    outcome: step.outcome,
    after: { ...state, excess: new Map(state.excess).set(pay.out_pay_no, payment) },
    writes: { events: [event], excess: { transactionId: order.transaction_id, reason, payment } },
  };
}

/** What the journal says of a payment: everything but who paid. */
function paymentFacts(pay: PayOrder): Record<string, unknown> {
  return {
    out_pay_no: pay.out_pay_no,
    total: pay.amount.total,
    currency: pay.amount.currency,
    channel: pay.channel ?? null,
    channel_transaction_id: pay.channel_transaction_id ?? null,
  };
}

function paymentRow(pay: PayOrder): PaymentRow {
  return {
    out_pay_no: pay.out_pay_no,
    total: pay.amount.total,
    currency: pay.amount.currency,
    payer_openid: pay.payer?.openid ?? null,
    channel: pay.channel ?? null,
    channel_transaction_id: pay.channel_transaction_id ?? null,
    success_time: pay.success_time === undefined ? null : toDbTime(pay.success_time),
  };
}

/** Columns of a payment by the member of the request that they come from, in the order in which a conflict names them. */
const CONTENT = {
  "amount.total": "total",
  "amount.currency": "currency",
  payer: "payer_openid",
  channel: "channel",
  channel_transaction_id: "channel_transaction_id",
  success_time: "success_time",
} as const satisfies Record<string, keyof PaymentRow>;

/** Names of the members in which a payment differs from the one that has its number. */
function differing(row: PaymentRow, pay: PayOrder): string[] {
  const asked = paymentRow(pay);
  return Object.entries(CONTENT).flatMap(([member, column]) => (row[column] === asked[column] ? [] : [member]));
}

function outPayNoUsed(order: OrderRow, now: Instant, fields: readonly string[]): DomainError {
  return new DomainError("OUT_PAY_NO_USED", "the payment number was used with other content", {
    order: orderView(order, now),
    conflict: { fields },
  });
}

function amountMismatch(row: OrderRow, pay: PayOrder): DomainError | undefined {
  if (row.currency !== pay.amount.currency) {
    return new DomainError("CURRENCY_MISMATCH", `the order is in ${row.currency}`, {
      errors: [{ pointer: "/amount/currency", issue: `the order is in ${row.currency}` }],
    });
  }
  if (row.total !== pay.amount.total) {
    return new DomainError("AMOUNT_MISMATCH", `the order's total is ${row.total}`, {
      errors: [{ pointer: "/amount/total", issue: `the order's total is ${row.total}` }],
    });
  }
  return undefined;
}
