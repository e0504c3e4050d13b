import { Router } from "express";
import { REFUNDS_PER_ORDER_MAX } from "../../core/order-states.ts";
import { createRefundSchema, readModeSchema, refundResultSchema } from "../../core/schemas/orders.ts";
import { readRefund, readRefundsOfOrder } from "../db/reads.ts";
import { joinedOrder, joinedRefund } from "../db/tables.ts";
import { orderNotExist, refundNotExist } from "../orders/not-exist.ts";
import { refundView } from "../orders/order-view.ts";
import { type Answer, created, type Endpoint, ok, readHeaders, replayed, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf, type Incoming, refundIdOf, transactionIdOf, validated } from "./request.ts";

export function refundRoutes(context: HttpContext): Router {
  const { refund, refundResult } = refundEndpoints(context);
  const router = Router();
  router.post("/orders/:transaction_id/refunds", route(context, refund.operation, refund.work));
  router.get(
    "/orders/:transaction_id/refunds",
    route(context, "list-refunds", (req) => list(context, req)),
  );
  router.get(
    "/refunds/:refund_id",
    route(context, "query-refund", (req) => query(context, req)),
  );
  router.post("/refunds/:refund_id/result", route(context, refundResult.operation, refundResult.work));
  return router;
}

/** What comes by the hop too. */
export function refundEndpoints(context: HttpContext): Readonly<Record<"refund" | "refundResult", Endpoint>> {
  return {
    refund: { operation: "refund", work: (req) => create(context, req) },
    refundResult: { operation: "refund-result", work: (req) => result(context, req) },
  };
}

async function create(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const transactionId = transactionIdOf(req.params.transaction_id, context);
  const refund = bodyOf(req, createRefundSchema);
  const refundId = await context.refundNumbers.mint();
  const op = { kind: "refund", transactionId, refundId, refund } as const;
  const value = valueOf(await context.database.groupCommit.run(deadline, op));
  return value.replayed ? replayed(value.refund) : created(value.refund);
}

async function list(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const id = transactionIdOf(req.params.transaction_id, context);
  const read = await context.database.reader.either(
    deadline,
    (db) => readRefundsOfOrder(db, id, REFUNDS_PER_ORDER_MAX),
    ([first]) => joinedOrder(first) !== undefined,
    validated(readModeSchema.default("primary"), req.query.read),
  );
  context.metrics.reads.inc({ source: read.source });
  const order = joinedOrder(read.rows[0]);
  if (order === undefined) throw orderNotExist();
  const refunds = read.rows.map(joinedRefund).filter((row) => row !== undefined);
  return ok({ refunds: refunds.map((refund) => refundView(refund, order)) }, readHeaders(read));
}

async function query(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const id = refundIdOf(req.params.refund_id, context);
  const read = await context.database.reader.either(
    deadline,
    (db) => readRefund(db, id),
    ([first]) => joinedRefund(first) !== undefined,
    validated(readModeSchema.default("primary"), req.query.read),
  );
  context.metrics.reads.inc({ source: read.source });
  const [row] = read.rows;
  const [refund, order] = [joinedRefund(row), joinedOrder(row)];
  if (refund === undefined || order === undefined) throw refundNotExist();
  return ok(refundView(refund, order), readHeaders(read));
}

async function result(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const refundId = refundIdOf(req.params.refund_id, context);
  const { status } = bodyOf(req, refundResultSchema);
  const outcome = await context.database.groupCommit.run(deadline, { kind: "refund-result", refundId, status });
  const value = valueOf(outcome);
  return value.replayed ? replayed(value.refund) : ok(value.refund);
}
