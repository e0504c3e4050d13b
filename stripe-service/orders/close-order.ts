import { DomainError } from "../../core/errors.ts";
import { type Instant, toDbTime } from "../../core/time.ts";
import type { OrderRow } from "../db/tables.ts";
import { type Aggregate, refusal, type Step } from "./aggregate.ts";
import { orderView } from "./order-view.ts";
import type { OrderAnswer } from "./pay-order.ts";
import { done } from "./tx.ts";

/**
 * Closes an unpaid order; a closed one stays as it is. Paid: ORDER_PAID with the order. One that gave way to another order
 * of its number: ORDER_CLOSED, naming that one, as a 200 would say that the number cannot be paid any more.
 */
export function closeOrder(state: Aggregate, now: Instant): Step<OrderAnswer> {
  switch (state.order.trade_state) {
    case "CLOSED":
      if (state.order.superseded_by !== null && state.order.close_reason !== "MERCHANT") return gaveWay(state, now);
      return { outcome: done({ order: orderView(state.order, now), replayed: true }), after: state };
    case "SUCCESS":
    case "REFUND":
      return refusal(state, new DomainError("ORDER_PAID", "the order is paid", { order: orderView(state.order, now) }));
    case "NOTPAY":
      return closed(state, now);
    default:
      return state.order.trade_state satisfies never;
  }
}

function gaveWay(state: Aggregate, now: Instant): Step<OrderAnswer> {
  const { superseded_by: by } = state.order;
  const detail = `order ${by} stands for this merchant number: close that one`;
  return refusal(
    state,
    new DomainError("ORDER_CLOSED", detail, { order: orderView(state.order, now), conflict: { superseded_by: by } }),
  );
}

function closed(state: Aggregate, now: Instant): Step<OrderAnswer> {
  const order: OrderRow = {
    ...state.order,
    trade_state: "CLOSED",
    close_reason: "MERCHANT",
    close_time: toDbTime(now),
    version: state.order.version + 1,
  };
  const event = {
    type: "ORDER_CLOSED" as const,
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version,
    data: { close_reason: "MERCHANT" },
  };
  return {
    outcome: done({ order: orderView(order, now), replayed: false }),
    after: { ...state, order },
    writes: { events: [event] },
  };
}
