import { DomainError } from "../../core/errors.ts";
import { type Instant, toDbTime } from "../../core/time.ts";
import type { OrderRow } from "../db/tables.ts";
import { type Aggregate, refusal, type Step } from "./aggregate.ts";
import { orderView } from "./order-view.ts";
import type { OrderAnswer } from "./pay-order.ts";
import { done } from "./tx.ts";

/** Closes an unpaid order; a closed one stays as it is. Paid: ORDER_PAID with the order. */
export function closeOrder(state: Aggregate, now: Instant): Step<OrderAnswer> {
  switch (state.order.trade_state) {
    case "CLOSED":
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
