// Create, in the stripe (docs: jump and handoff protocol). The stripe decides by its own bucket row, not by the proxy's
// view, which path a create takes: where the bucket is at home the index makes it idempotent, elsewhere the handoff.
import { DomainError, paramError } from "../../core/errors.ts";
import { contentOf, differingFields } from "../../core/order-content.ts";
import { EXPIRE_DEFAULT_MS, EXPIRE_MAX_MS, EXPIRE_MIN_MS } from "../../core/order-states.ts";
import type { CreateOrder, Order } from "../../core/schemas/orders.ts";
import type { Instant } from "../../core/time.ts";
import { insertHandoff, selectHandoff } from "../db/handoffs.ts";
import { insertIndexRow, type Key, selectIndexRow } from "../db/index-rows.ts";
import { insertOrder } from "../db/insert-order.ts";
import { selectOrder } from "../db/select-order.ts";
import type { PointerRow } from "../db/tables.ts";
import { orderView, storedContent } from "./order-view.ts";
import { done, misdirected, type Outcome, refused, type Tx } from "./tx.ts";

export interface CreateInput {
  readonly transactionId: string;
  readonly bucket: number;
  readonly as: "HOME" | "JUMP";
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

type Path = "INDEX" | "HANDOFF";

/** Creates an order, or recognises it. Conflicts: OUT_TRADE_NO_USED. Not here: MISDIRECTED. */
export async function createOrder(tx: Tx, input: CreateInput): Promise<Outcome<CreateResult>> {
  const path = pathOf(tx, input);
  if (path === undefined) return refused(misdirected("this stripe is not the bucket's home", tx.fence.routingVersion));
  const timeExpire = input.order.time_expire ?? plusMs(tx.now, EXPIRE_DEFAULT_MS);
  const fault = newOrderFault(tx, timeExpire);
  if (fault !== undefined) return replayOr(tx, path, input, fault);
  if (!(await writeKey(tx, path, input))) return replayOr(tx, path, input, undefined);
  const { order, transactionId } = input;
  await insertOrder(tx.db, { transactionId, order, createTime: tx.now, timeExpire });
  await tx.journal({
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
  });
  return done({ kind: "created", order: newOrderView(input, tx.now, timeExpire) });
}

function pathOf(tx: Tx, input: CreateInput): Path | undefined {
  if (tx.fence.buckets.get(input.bucket) === "HOME") return "INDEX";
  return input.as === "JUMP" ? "HANDOFF" : undefined;
}

/** Why no new order can be made now; an order that exists is recognised all the same. */
function newOrderFault(tx: Tx, timeExpire: Instant): DomainError | undefined {
  const { acceptsCreates, acceptsWrites, routingVersion } = tx.fence;
  if (!acceptsCreates || !acceptsWrites) return misdirected("this stripe takes no new orders", routingVersion);
  if (timeExpire < plusMs(tx.now, EXPIRE_MIN_MS) || timeExpire > plusMs(tx.now, EXPIRE_MAX_MS)) {
    return paramError("/order/time_expire", "must be at least 60 seconds and at most 90 days ahead");
  }
  return undefined;
}

function keyOf({ bucket, order }: CreateInput): Key {
  return { bucket, mchid: order.mchid, outTradeNo: order.out_trade_no };
}

function writeKey(tx: Tx, path: Path, input: CreateInput): Promise<boolean> {
  const key = keyOf(input);
  if (path === "INDEX") return insertIndexRow(tx.db, key, input.transactionId, input.requestHash);
  return insertHandoff(tx.db, key, input.transactionId, input.requestHash, input.failed, tx.now);
}

async function replayOr(
  tx: Tx,
  path: Path,
  input: CreateInput,
  otherwise: DomainError | undefined,
): Promise<Outcome<CreateResult>> {
  const select = path === "INDEX" ? selectIndexRow : selectHandoff;
  const pointer = await select(tx.db, keyOf(input));
  if (pointer !== undefined) return replay(tx, input, pointer);
  if (otherwise !== undefined) return refused(otherwise);
  throw new Error("a key that exists has no row");
}

async function replay(tx: Tx, input: CreateInput, pointer: PointerRow): Promise<Outcome<CreateResult>> {
  const requestHash = pointer.request_hash.toString("hex");
  const row = await selectOrder(tx.db, pointer.transaction_id);
  if (row === undefined) return done({ kind: "pointer", transactionId: pointer.transaction_id, requestHash });
  if (requestHash === input.requestHash) return done({ kind: "replayed", order: orderView(row, tx.now) });
  const fields = differingFields(contentOf(input.order), storedContent(row));
  return refused(
    new DomainError("OUT_TRADE_NO_USED", "the merchant order number names an order with other content", {
      conflict: { transaction_id: row.transaction_id, fields },
    }),
  );
}

/** The answer for a row that was just written, without reading it back. */
function newOrderView({ transactionId, order }: CreateInput, createTime: Instant, timeExpire: Instant): Order {
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

function plusMs(instant: Instant, ms: number): Instant {
  return new Date(Date.parse(instant) + ms).toISOString();
}
