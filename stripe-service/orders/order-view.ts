// Database rows → the objects of the HTTP contract.
import type { OrderContent } from "../../core/order-content.ts";
import type { Order, OrderEvent, Refund } from "../../core/schemas/orders.ts";
import { fromDbTime, type Instant, toDbTime } from "../../core/time.ts";
import type { EventRow, OrderRow, RefundRow } from "../db/tables.ts";

/** The order as it is at `now`. */
export function orderView(row: OrderRow, now: Instant): Order {
  const paid = row.trade_state === "SUCCESS" || row.trade_state === "REFUND";
  return {
    transaction_id: row.transaction_id,
    mchid: row.mchid,
    out_trade_no: row.out_trade_no,
    description: row.description,
    ...(row.attach === null ? {} : { attach: row.attach }),
    ...(row.payer_openid === null ? {} : { payer: { openid: row.payer_openid } }),
    ...(row.notify_url === null ? {} : { notify_url: row.notify_url }),
    amount: {
      total: row.total,
      currency: row.currency,
      refunded: row.refunded,
      refunding: row.refunding,
      refundable: paid ? refundable(row) : 0,
    },
    trade_state: row.trade_state,
    payable: row.trade_state === "NOTPAY" && !isExpired(row, now),
    ...(row.close_reason === null ? {} : { close_reason: row.close_reason }),
    ...(row.superseded_by === null ? {} : { superseded_by: row.superseded_by }),
    create_time: fromDbTime(row.create_time),
    time_expire: fromDbTime(row.time_expire),
    ...(row.success_time === null ? {} : { success_time: fromDbTime(row.success_time) }),
    ...(row.close_time === null ? {} : { close_time: fromDbTime(row.close_time) }),
    ...(row.out_pay_no === null ? {} : { out_pay_no: row.out_pay_no }),
    version: row.version,
  };
}

/** Minor units that a further refund may have. */
export function refundable(row: Pick<OrderRow, "total" | "refunded" | "refunding">): number {
  return row.total - row.refunded - row.refunding;
}

export function isExpired(row: Pick<OrderRow, "time_expire">, now: Instant): boolean {
  return row.time_expire <= toDbTime(now);
}

/** What a replayed create is compared with. */
export function storedContent(row: OrderRow): OrderContent {
  return {
    description: row.description,
    "amount.total": String(row.total),
    "amount.currency": row.currency,
    time_expire: row.time_expire_given === 1 ? fromDbTime(row.time_expire) : null,
    notify_url: row.notify_url,
    attach: row.attach,
    payer: row.payer_openid,
  };
}

/** A refund with what it shows of its order. */
export function refundView(
  refund: RefundRow,
  order: Pick<OrderRow, "mchid" | "out_trade_no" | "total" | "currency">,
): Refund {
  return {
    refund_id: refund.refund_id,
    out_refund_no: refund.out_refund_no,
    transaction_id: refund.transaction_id,
    mchid: order.mchid,
    out_trade_no: order.out_trade_no,
    amount: { refund: refund.refund, total: order.total, currency: order.currency },
    ...(refund.reason === null ? {} : { reason: refund.reason }),
    status: refund.status,
    create_time: fromDbTime(refund.refund_create_time),
    ...(refund.refund_success_time === null ? {} : { success_time: fromDbTime(refund.refund_success_time) }),
    version: refund.refund_version,
  };
}

export function eventView(row: EventRow): OrderEvent {
  return {
    seq: row.seq,
    event_type: row.event_type,
    version: row.version,
    time: fromDbTime(row.create_time),
    data: row.data,
  };
}
