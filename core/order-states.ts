// States and their allowed transitions: the tables that every conditional UPDATE follows and that tests check against
// the journal.

export const TRADE_STATES = ["NOTPAY", "SUCCESS", "REFUND", "CLOSED"] as const;
export type TradeState = (typeof TRADE_STATES)[number];

export const CLOSE_REASONS = ["MERCHANT", "EXPIRED", "ADMIN", "DUPLICATE"] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** NOTPAY → SUCCESS → REFUND, NOTPAY → CLOSED; a paid order is never closed. */
export const TRADE_TRANSITIONS: Readonly<Record<TradeState, readonly TradeState[]>> = {
  NOTPAY: ["SUCCESS", "CLOSED"],
  SUCCESS: ["REFUND"],
  REFUND: [],
  CLOSED: [],
};

export const REFUND_STATUSES = ["PROCESSING", "SUCCESS", "CLOSED", "ABNORMAL"] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];
export type RefundResult = Exclude<RefundStatus, "PROCESSING">;

/** Only CLOSED gives the reserved amount back; ABNORMAL keeps it until a person or the channel decides. */
export const REFUND_TRANSITIONS: Readonly<Record<RefundStatus, readonly RefundStatus[]>> = {
  PROCESSING: ["SUCCESS", "CLOSED", "ABNORMAL"],
  ABNORMAL: ["SUCCESS", "CLOSED"],
  SUCCESS: [],
  CLOSED: [],
};

export const EXCESS_REASONS = ["DUPLICATE", "LATE", "SUPERSEDED"] as const;
export type ExcessReason = (typeof EXCESS_REASONS)[number];

export const HANDOFF_STATES = ["PENDING", "CLAIMED", "DONE"] as const;
export type HandoffState = (typeof HANDOFF_STATES)[number];

export const BUCKET_ROLES = ["HOME", "IMPORTING", "MOVED"] as const;
export type BucketRole = (typeof BUCKET_ROLES)[number];

export const REFUNDS_PER_ORDER_MAX = 50;
/** An order without `time_expire` can be paid for this long. */
export const EXPIRE_DEFAULT_MS = 2 * 3600 * 1000;
export const EXPIRE_MIN_MS = 60 * 1000;
export const EXPIRE_MAX_MS = 90 * 24 * 3600 * 1000;

/** Kinds of journal rows (`order_events.event_type`). */
export const EVENT_TYPES = [
  "ORDER_CREATED",
  "ORDER_PAID",
  "ORDER_CLOSED",
  "ORDER_SUPERSEDED",
  "EXCESS_PAYMENT",
  "REFUND_CREATED",
  "REFUND_SUCCEEDED",
  "REFUND_CLOSED",
  "REFUND_ABNORMAL",
  "HANDOFF_CLAIMED",
  "HANDOFF_DONE",
  "HANDOFF_DEFERRED",
  "INDEX_CLAIMED",
  "INDEX_REPOINTED",
  "INDEX_IMPORTED",
  "DUPLICATE_CONTENT_DIFFERS",
  "SEQUENCE_LEASED",
  "STRIPE_STATE_CHANGED",
  "BUCKET_ROLE_CHANGED",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
