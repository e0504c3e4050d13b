// What settles jumped orders, asked by the services of other stripes, and what proxies ask before a stripe is readmitted.
import { type Request, Router } from "express";
import { paramError } from "../../core/errors.ts";
import { bucketOf } from "../../core/placement.ts";
import {
  wireClaimSchema,
  wirePendingQuerySchema,
  wireRepointSchema,
  wireSupersedeSchema,
} from "../../core/schemas/wire-jump.ts";
import type { Key } from "../db/index-rows.ts";
import { readOpenBuckets } from "../db/read-open-handoffs.ts";
import { claimKey, type IndexPointer } from "../jump/claim-key.ts";
import { repointIndex } from "../jump/repoint-index.ts";
import { supersedeOrder } from "../jump/supersede-order.ts";
import { type Answer, ok, readHeaders, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf, partitionOf, transactionIdOf, validated } from "./request.ts";

export function jumpRoutes(context: HttpContext): Router {
  const router = Router();
  router.post(
    "/claims",
    route(context, "claim", (req) => claim(context, req)),
  );
  router.post(
    "/index/repoint",
    route(context, "repoint", (req) => repoint(context, req)),
  );
  router.post(
    "/orders/:transaction_id/supersede",
    route(context, "supersede", (req) => supersede(context, req)),
  );
  router.get(
    "/handoffs/pending",
    route(context, "pending-handoffs", (req) => pending(context, req)),
  );
  return router;
}

function keyOf(wire: { mchid: string; out_trade_no: string; bucket: number }): Key {
  const key = { mchid: wire.mchid, outTradeNo: wire.out_trade_no };
  if (wire.bucket !== bucketOf(key)) throw paramError("/bucket", "is not the bucket of this merchant number");
  return { ...key, bucket: wire.bucket };
}

function pointerAnswer({ transactionId, requestHash }: IndexPointer): Answer {
  return ok({ transaction_id: transactionId, request_hash: requestHash });
}

async function claim(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const wire = bodyOf(req, wireClaimSchema);
  const input = { key: keyOf(wire), transactionId: wire.transaction_id, requestHash: wire.request_hash };
  const { writer } = context.database;
  const fence = { buckets: [wire.bucket], partition: partitionOf(req) };
  return pointerAnswer(valueOf(await writer.run(deadline, fence, (tx) => claimKey(tx, input))));
}

async function repoint(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const wire = bodyOf(req, wireRepointSchema);
  const input = { key: keyOf(wire), from: wire.from, to: wire.to, requestHash: wire.request_hash };
  const { writer } = context.database;
  const fence = { buckets: [wire.bucket], partition: partitionOf(req) };
  return pointerAnswer(valueOf(await writer.run(deadline, fence, (tx) => repointIndex(tx, input))));
}

async function supersede(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const transactionId = transactionIdOf(req.params.transaction_id, context);
  const { mchid, out_trade_no: outTradeNo, by, claim: why } = bodyOf(req, wireSupersedeSchema);
  const input = { transactionId, mchid, outTradeNo, by, claim: why };
  return ok({ answer: valueOf(await context.database.writer.run(deadline, {}, (tx) => supersedeOrder(tx, input))) });
}

async function pending(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const { older_ms: olderMs } = validated(wirePendingQuerySchema, req.query);
  const read = await context.database.reader.primary(deadline, (db) => readOpenBuckets(db, ["PENDING"], olderMs));
  const buckets = read.rows.flatMap(({ open_bucket: bucket }) => (bucket === null ? [] : [bucket]));
  return ok({ buckets }, readHeaders(read));
}
