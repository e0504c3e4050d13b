// Create, in the stripe (docs: jump and handoff protocol). The stripe decides by its own bucket row, not by the proxy's
// view, which path a create takes: where the bucket is at home the index makes it idempotent, elsewhere the handoff.
import { DomainError, paramError } from "../../core/errors.ts";
import { contentOf, differingFields, type OrderContent } from "../../core/order-content.ts";
import { EXPIRE_DEFAULT_MS, EXPIRE_MAX_MS, EXPIRE_MIN_MS } from "../../core/order-states.ts";
import type { CreateOrder, Order } from "../../core/schemas/orders.ts";
import type { Instant } from "../../core/time.ts";
import type { Key } from "../db/index-rows.ts";
import type { NewEvent } from "../db/insert-events.ts";
import type { OrderRow } from "../db/tables.ts";
import { orderView, storedContent } from "./order-view.ts";
import { done, type Fence, misdirected, type Outcome, partitionFault, refused } from "./tx.ts";

export interface CreateInput {
  readonly transactionId: string;
  readonly bucket: number;
  readonly as: "HOME" | "JUMP";
  /** The partition that the caller takes the stripe to be in; undefined: it does not depend on it. */
  readonly partition: string | undefined;
  /** This request's earlier numbers whose outcome is unknown, oldest first. */
  readonly failed: readonly string[];
  /** SHA-256, hex. */
  readonly requestHash: string;
  readonly order: CreateOrder;
}

export type CreateResult =
  | { readonly kind: "created" | "replayed"; readonly order: Order }
  /** The number is known; its order is on another stripe. */
  | Pointer;

export interface Pointer {
  readonly kind: "pointer";
  readonly transactionId: string;
  readonly requestHash: string;
}

export type Path = "INDEX" | "HANDOFF";

/** How this stripe takes a create, by its own bucket row. */
export type CreatePlan =
  | { readonly kind: "refused"; readonly error: DomainError }
  /** `fault`: no new order can be made; one that exists is recognised all the same. */
  | {
      readonly kind: "key";
      readonly path: Path;
      readonly timeExpire: Instant;
      readonly fault: DomainError | undefined;
    };

export function planCreate(fence: Fence, input: CreateInput): CreatePlan {
  const elsewhere = partitionFault(fence, input.partition);
  if (elsewhere !== undefined) return { kind: "refused", error: elsewhere };
  const path = pathOf(fence, input);
  if (path === undefined) {
    return { kind: "refused", error: misdirected("this stripe is not the bucket's home", fence.routingVersion) };
  }
  const timeExpire = input.order.time_expire ?? plusMs(fence.now, EXPIRE_DEFAULT_MS);
  return { kind: "key", path, timeExpire, fault: newOrderFault(fence, timeExpire) };
}

function pathOf(fence: Fence, input: CreateInput): Path | undefined {
  if (fence.buckets.get(input.bucket) === "HOME") return "INDEX";
  return input.as === "JUMP" ? "HANDOFF" : undefined;
}

function newOrderFault(fence: Fence, timeExpire: Instant): DomainError | undefined {
  const { acceptsCreates, acceptsWrites, routingVersion, now } = fence;
  if (!acceptsCreates || !acceptsWrites) return misdirected("this stripe takes no new orders", routingVersion);
  if (timeExpire < plusMs(now, EXPIRE_MIN_MS) || timeExpire > plusMs(now, EXPIRE_MAX_MS)) {
    return paramError("/order/time_expire", "must be at least 60 seconds and at most 90 days ahead");
  }
  return undefined;
}

export function keyOf({ bucket, order }: CreateInput): Key {
  return { bucket, mchid: order.mchid, outTradeNo: order.out_trade_no };
}

/** The journal's row of a new order. */
export function createdEvent(input: CreateInput, path: Path, timeExpire: Instant): NewEvent {
  const { order, transactionId } = input;
  return {
    type: "ORDER_CREATED",
    transactionId,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: 1,
    data: {
      total: order.amount.total,
      currency: order.amount.currency,
      time_expire: timeExpire,
      bucket: input.bucket,
      path,
      ...(path === "HANDOFF" ? { failed: input.failed } : {}),
    },
  };
}

/**
 * The answer to a create whose number is known.
 * @param row the order that the pointer names; undefined: it is on another stripe
 */
export function replayCreate(
  input: CreateInput,
  pointer: Omit<Pointer, "kind">,
  row: OrderRow | undefined,
  now: Instant,
): Outcome<CreateResult> {
  if (row === undefined) return done({ kind: "pointer", ...pointer });
  if (pointer.requestHash === input.requestHash) return done({ kind: "replayed", order: orderView(row, now) });
  return conflict(row.transaction_id, input, storedContent(row));
}

/** The answer to a create that shares its number with one that is new in the same transaction. */
export function replayNew(
  input: CreateInput,
  made: CreateInput,
  timeExpire: Instant,
  now: Instant,
): Outcome<CreateResult> {
  if (made.requestHash === input.requestHash) {
    return done({ kind: "replayed", order: newOrderView(made, now, timeExpire) });
  }
  return conflict(made.transactionId, input, contentOf(made.order));
}

function conflict(transactionId: string, input: CreateInput, other: OrderContent): Outcome<CreateResult> {
  const fields = differingFields(contentOf(input.order), other);
  return refused(
    new DomainError("OUT_TRADE_NO_USED", "the merchant order number names an order with other content", {
      conflict: { transaction_id: transactionId, fields },
    }),
  );
}

/** The answer for a row that was just written, without reading it back. */
export function newOrderView({ transactionId, order }: CreateInput, createTime: Instant, timeExpire: Instant): Order {
  return {
    transaction_id: transactionId,
    mchid: order.mchid,
    out_trade_no: order.out_trade_no,
    description: order.description,
    ...(order.attach === undefined ? {} : { attach: order.attach }),
    ...(order.payer === undefined ? {} : { payer: order.payer }),
    ...(order.notify_url === undefined ? {} : { notify_url: order.notify_url }),
    amount: { ...order.amount, refunded: 0, refunding: 0, refundable: 0 },
    trade_state: "NOTPAY",
    payable: true,
    create_time: createTime,
    time_expire: timeExpire,
    version: 1,
  };
}

/** Of the last instant: the creates of a transaction ask for the same few sums. */
const sums = { of: "", byMs: new Map<number, Instant>() };

function plusMs(instant: Instant, ms: number): Instant {
  if (sums.of !== instant) {
    sums.of = instant;
    sums.byMs.clear();
  }
  const known = sums.byMs.get(ms);
  if (known !== undefined) return known;
  const sum = new Date(Date.parse(instant) + ms).toISOString();
  sums.byMs.set(ms, sum);
  return sum;
}
