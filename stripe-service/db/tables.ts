// Row types, as the driver gives them: DATETIME(3) as UTC text, BIGINT as a number (the schemas keep them ≤ 2^53−1).
import type { BucketRole, CloseReason, RefundStatus, TradeState } from "../../core/order-states.ts";

export interface OrderRow {
  readonly transaction_id: string;
  readonly mchid: string;
  readonly out_trade_no: string;
  readonly description: string;
  readonly attach: string | null;
  readonly payer_openid: string | null;
  readonly notify_url: string | null;
  readonly total: number;
  readonly currency: string;
  readonly refunded: number;
  readonly refunding: number;
  readonly refund_count: number;
  readonly trade_state: TradeState;
  readonly close_reason: CloseReason | null;
  readonly superseded_by: string | null;
  readonly create_time: string;
  readonly time_expire: string;
  readonly time_expire_given: number;
  readonly success_time: string | null;
  readonly close_time: string | null;
  readonly out_pay_no: string | null;
  readonly version: number;
}

/** The columns of {@link OrderRow}, of a table or alias `o`. */
export const ORDER_COLUMNS = [
  "transaction_id",
  "mchid",
  "out_trade_no",
  "description",
  "attach",
  "payer_openid",
  "notify_url",
  "total",
  "currency",
  "refunded",
  "refunding",
  "refund_count",
  "trade_state",
  "close_reason",
  "superseded_by",
  "create_time",
  "time_expire",
  "time_expire_given",
  "success_time",
  "close_time",
  "out_pay_no",
  "version",
]
  .map((column) => `o.${column}`)
  .join(", ");

export interface RefundRow {
  readonly refund_id: string;
  readonly transaction_id: string;
  readonly out_refund_no: string;
  readonly refund: number;
  readonly reason: string | null;
  readonly status: RefundStatus;
  readonly refund_create_time: string;
  readonly refund_success_time: string | null;
  readonly refund_version: number;
}

/** The columns of {@link RefundRow}, of an alias `r`; names that orders have too are prefixed. */
export const REFUND_COLUMNS =
  "r.refund_id, r.transaction_id, r.out_refund_no, r.refund, r.reason, r.status, " +
  "r.create_time AS refund_create_time, r.success_time AS refund_success_time, r.version AS refund_version";

/** A payment as `payments` and `excess_payments` hold it. */
export interface PaymentRow {
  readonly out_pay_no: string;
  readonly total: number;
  readonly currency: string;
  readonly payer_openid: string | null;
  readonly channel: string | null;
  readonly channel_transaction_id: string | null;
  readonly success_time: string | null;
}

export const PAYMENT_COLUMNS =
  "out_pay_no, total, currency, payer_openid, channel, channel_transaction_id, success_time";

/** What a key's index row or handoff says. */
export interface PointerRow {
  readonly transaction_id: string;
  /** SHA-256, 32 bytes. */
  readonly request_hash: Buffer;
}

export interface EventRow {
  readonly seq: string;
  readonly event_type: string;
  readonly version: number;
  readonly create_time: string;
  readonly data: Record<string, unknown>;
}

/** One row per asked bucket, or one row with null when none was asked. */
export interface FenceRow {
  readonly place: number;
  readonly role: string;
  readonly triple_id: string;
  readonly identity: string;
  readonly accepts_creates: number;
  readonly accepts_writes: number;
  readonly routing_version: number;
  readonly stripe_partition: string | null;
  readonly read_only: number;
  /** Age of the newest beat that this server shows: of a replica, how far it is behind at most. */
  readonly beat_age_us: number | null;
  readonly now: string;
  readonly bucket: number | null;
  readonly bucket_role: BucketRole | null;
}

/** Columns of a LEFT JOIN: all null when nothing was joined. */
export type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** The joined order, or undefined: with its key its NOT NULL columns are there too. */
export function joinedOrder(row: Nullable<OrderRow> | undefined): OrderRow | undefined {
  return row === undefined || row.transaction_id === null ? undefined : (row as OrderRow);
}

export function joinedRefund(row: Nullable<RefundRow> | undefined): RefundRow | undefined {
  return row === undefined || row.refund_id === null ? undefined : (row as RefundRow);
}

export function joinedEvent(row: Nullable<EventRow> | undefined): EventRow | undefined {
  return row === undefined || row.seq === null ? undefined : (row as EventRow);
}
