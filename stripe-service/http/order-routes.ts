import { Router } from "express";
import { paramError } from "../../core/errors.ts";
import { bucketOf } from "../../core/placement.ts";
import { closeOrderSchema, type CreateOrder, payOrderSchema, readModeSchema } from "../../core/schemas/orders.ts";
import { WIRE_HEADERS, type WireCreate, wireLookupSchema } from "../../core/schemas/wire.ts";
import { parseInstant } from "../../core/time.ts";
import { readByHandoff, readByIndex, readHistory, readOrders } from "../db/reads.ts";
import { joinedEvent, joinedOrder } from "../db/tables.ts";
import type { CreateResult } from "../orders/create-order.ts";
import { orderNotExist } from "../orders/not-exist.ts";
import { eventView, orderView } from "../orders/order-view.ts";
import { misdirected, requirePartition } from "../orders/tx.ts";
import type { ReadSource } from "../storage/reader.ts";
import { type Answer, created, type Endpoint, ok, readHeaders, replayed, route, subjectOf, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf, type Incoming, partitionOf, transactionIdOf, validated } from "./request.ts";
import { wireCreateOf } from "./wire-create.ts";

/** Events of one order that its history shows at most. */
const HISTORY_EVENTS_MAX = 1_000;

export function orderRoutes(context: HttpContext): Router {
  const { create, query, pay, close } = orderEndpoints(context);
  const router = Router();
  router.post("/orders", route(context, create.operation, create.work));
  router.get(
    "/lookup",
    route(context, "lookup", (req) => lookup(context, req)),
  );
  router.get("/orders/:transaction_id", route(context, query.operation, query.work));
  router.get(
    "/orders/:transaction_id/history",
    route(context, "history", (req) => history(context, req)),
  );
  router.post("/orders/:transaction_id/pay", route(context, pay.operation, pay.work));
  router.post("/orders/:transaction_id/close", route(context, close.operation, close.work));
  return router;
}

/** What comes by the hop too. */
export function orderEndpoints(context: HttpContext): Readonly<Record<"create" | "query" | "pay" | "close", Endpoint>> {
  return {
    create: { operation: "create", work: (req) => create(context, req) },
    query: { operation: "query", work: (req) => query(context, req) },
    pay: { operation: "pay", work: (req) => pay(context, req) },
    close: { operation: "close", work: (req) => close(context, req) },
  };
}

async function create(context: HttpContext, req: Incoming): Promise<Answer> {
  if (context.faults.enabled) await context.faults.at("create.before-begin", subjectOf(req));
  const deadline = deadlineOf(req, context);
  const wire = wireCreateOf(req);
  const order = orderOf(wire);
  if (wire.bucket !== bucketOf({ mchid: order.mchid, outTradeNo: order.out_trade_no })) {
    throw paramError("/bucket", "is not the bucket of this merchant number");
  }
  const input = {
    transactionId: transactionIdOf(wire.transaction_id, context),
    bucket: wire.bucket,
    as: wire.as,
    partition: partitionOf(req),
    failed: wire.failed,
    requestHash: wire.request_hash,
    order,
  };
  return createAnswer(valueOf(await context.database.groupCommit.run(deadline, { kind: "create", input })));
}

/** @throws DomainError PARAM_ERROR */
function orderOf({ order }: WireCreate): CreateOrder {
  if (order.time_expire === undefined) return order as CreateOrder;
  const timeExpire = parseInstant(order.time_expire);
  if (timeExpire === null) throw paramError("/order/time_expire", "not an RFC 3339 date-time with an offset");
  return { ...order, time_expire: timeExpire };
}

function createAnswer(result: CreateResult): Answer {
  switch (result.kind) {
    case "created":
      return created(result.order);
    case "replayed":
      return replayed(result.order);
    case "pointer":
      return pointer(result.transactionId, result.requestHash);
  }
}

function pointer(transactionId: string, requestHash: string): Answer {
  return {
    status: 200,
    code: "POINTER",
    body: { transaction_id: transactionId, request_hash: requestHash },
    headers: { [WIRE_HEADERS.orderPointer]: transactionId },
  };
}

/** Look-ups decide whether a number is known, so they are answered by the source alone. */
async function lookup(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const { mchid, out_trade_no: outTradeNo, bucket, in: where } = validated(wireLookupSchema, req.query);
  if (bucket !== bucketOf({ mchid, outTradeNo }))
    throw paramError("bucket", "is not the bucket of this merchant number");
  const statement = where === "index" ? readByIndex : readByHandoff;
  const read = await context.database.reader.primary(deadline, (db) => statement(db, { bucket, mchid, outTradeNo }));
  const { fence, rows } = read;
  requirePartition(fence, partitionOf(req));
  if (where === "index" && fence.buckets.get(bucket) !== "HOME") {
    throw misdirected("this stripe is not the bucket's home", fence.routingVersion);
  }
  const [row] = rows;
  if (row === undefined || row.pointer_id === null || row.pointer_hash === null) throw orderNotExist();
  const order = joinedOrder(row);
  if (order === undefined) return pointer(row.pointer_id, row.pointer_hash.toString("hex"));
  return ok(orderView(order, fence.now), readHeaders(read));
}

async function query(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const id = transactionIdOf(req.params.transaction_id, context);
  const read = await context.database.reader.either(
    deadline,
    (db) => readOrders(db, [id]),
    ([first]) => joinedOrder(first) !== undefined,
    readModeOf(req),
    (until) => context.database.orderReads.read(id, until),
  );
  context.metrics.reads.inc({ source: read.source });
  const order = joinedOrder(read.rows[0]);
  if (order === undefined) throw orderNotExist();
  return ok(orderView(order, read.fence.now), readHeaders(read));
}

function readModeOf({ query: { read } }: Incoming): ReadSource {
  return read === undefined ? "primary" : validated(readModeSchema, read);
}

async function history(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const id = transactionIdOf(req.params.transaction_id, context);
  const read = await context.database.reader.either(
    deadline,
    (db) => readHistory(db, id, HISTORY_EVENTS_MAX),
    ([first]) => joinedEvent(first) !== undefined,
    readModeOf(req),
  );
  context.metrics.reads.inc({ source: read.source });
  const events = read.rows.map(joinedEvent).filter((row) => row !== undefined);
  if (events.length === 0) throw orderNotExist();
  return ok({ events: events.map(eventView) }, readHeaders(read));
}

async function pay(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const transactionId = transactionIdOf(req.params.transaction_id, context);
  const body = bodyOf(req, payOrderSchema);
  const outcome = await context.database.groupCommit.run(deadline, { kind: "pay", transactionId, pay: body });
  const result = valueOf(outcome);
  return result.replayed ? replayed(result.order) : ok(result.order);
}

async function close(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const transactionId = transactionIdOf(req.params.transaction_id, context);
  bodyOf(req, closeOrderSchema);
  const outcome = await context.database.groupCommit.run(deadline, { kind: "close", transactionId });
  const result = valueOf(outcome);
  return result.replayed ? replayed(result.order) : ok(result.order);
}
