import { DomainError } from "../../core/errors.ts";
import { type EventType, REFUND_TRANSITIONS, type RefundResult } from "../../core/order-states.ts";
import { type Instant, toDbTime } from "../../core/time.ts";
import type { OrderRow, RefundRow } from "../db/tables.ts";
import { type Aggregate, refusal, type Step, withRefund } from "./aggregate.ts";
import type { RefundAnswer } from "./create-refund.ts";
import { refundNotExist } from "./not-exist.ts";
import { orderView, refundView } from "./order-view.ts";
import { done } from "./tx.ts";

const EVENT: Readonly<Record<RefundResult, EventType>> = {
  SUCCESS: "REFUND_SUCCEEDED",
  CLOSED: "REFUND_CLOSED",
  ABNORMAL: "REFUND_ABNORMAL",
};

/** Records the channel's result of a refund. The same result again changes nothing; another final one is a conflict. */
export function recordRefundResult(
  state: Aggregate,
  refundId: string,
  status: RefundResult,
  now: Instant,
): Step<RefundAnswer> {
  const known = state.refunds.get(refundId);
  if (known === undefined) return refusal(state, refundNotExist());
  if (known.status === status) {
    return { outcome: done({ refund: refundView(known, state.order), replayed: true }), after: state };
  }
  if (!REFUND_TRANSITIONS[known.status].includes(status)) {
    const conflict = { refund_id: refundId, status: known.status };
    const order = orderView(state.order, now);
    return refusal(
      state,
      new DomainError("REFUND_STATE_CONFLICT", `the refund is ${known.status}`, { conflict, order }),
    );
  }
  return recorded(state, movedAmount(state.order, known.refund, status), known, status, now);
}

/** SUCCESS spends the reserved amount, CLOSED gives it back, ABNORMAL keeps it until somebody decides. */
function movedAmount(order: OrderRow, amount: number, status: RefundResult): OrderRow {
  if (status === "ABNORMAL") return order;
  if (order.refunding < amount) throw new Error("the order does not hold the refund's reservation");
  const released = { ...order, refunding: order.refunding - amount, version: order.version + 1 };
  if (status === "CLOSED") return released;
  return { ...released, refunded: order.refunded + amount, trade_state: "REFUND" };
}

function recorded(
  state: Aggregate,
  order: OrderRow,
  known: RefundRow,
  status: RefundResult,
  now: Instant,
): Step<RefundAnswer> {
  const refund: RefundRow = {
    ...known,
    status,
    refund_success_time: status === "SUCCESS" ? toDbTime(now) : null,
    refund_version: known.refund_version + 1,
  };
  const event = {
    type: EVENT[status],
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version,
    data: {
      refund_id: refund.refund_id,
      out_refund_no: refund.out_refund_no,
      refund: refund.refund,
      currency: order.currency,
    },
  };
  return {
    outcome: done({ refund: refundView(refund, order), replayed: false }),
    after: withRefund(state, order, refund),
    writes: { events: [event], changedRefund: { was: known.refund_version, now: refund } },
  };
}
