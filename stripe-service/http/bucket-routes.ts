// The steps of a bucket's move, asked by the control plane.
import { type Request, Router } from "express";
import { DomainError, paramError } from "../../core/errors.ts";
import { bucketOf } from "../../core/placement.ts";
import { bucketSchema } from "../../core/schemas/wire.ts";
import {
  BUCKET_PAGE_ROWS_MAX,
  wireBucketStepSchema,
  type WireBucketState,
  wireExportSchema,
  type WireIndexRow,
  wireImportSchema,
} from "../../core/schemas/wire-jump.ts";
import { activateBucket, type BucketState, fenceBucket, importRows, startImport } from "../buckets/move-steps.ts";
import { readBucketRows, readBucketState } from "../db/read-buckets.ts";
import type { Outcome, Tx } from "../orders/tx.ts";
import { type Answer, ok, readHeaders, route, subjectOf, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf, validated } from "./request.ts";

const STEPS: Readonly<Record<string, (tx: Tx, bucket: number, moveEpoch: number) => Promise<Outcome<BucketState>>>> = {
  import: startImport,
  fence: fenceBucket,
  activate: activateBucket,
};

export function bucketRoutes(context: HttpContext): Router {
  const router = Router();
  router.get(
    "/buckets/:bucket",
    route(context, "get-bucket", (req) => getBucket(context, req)),
  );
  router.get(
    "/buckets/:bucket/rows",
    route(context, "export-rows", (req) => exportRows(context, req)),
  );
  router.post(
    "/buckets/:bucket/rows",
    route(context, "import-rows", (req) => takeRows(context, req)),
  );
  for (const [name, step] of Object.entries(STEPS)) {
    router.post(
      `/buckets/:bucket/${name}`,
      route(context, `${name}-bucket`, async (req) => {
        const deadline = deadlineOf(req, context);
        const bucket = bucketIn(req);
        const { move_epoch: moveEpoch } = bodyOf(req, wireBucketStepSchema);
        const outcome = await context.database.writer.run(deadline, {}, (tx) => step(tx, bucket, moveEpoch));
        return ok(stateView(bucket, valueOf(outcome)));
      }),
    );
  }
  return router;
}

function bucketIn(req: Request): number {
  const parsed = bucketSchema.safeParse(Number(req.params.bucket));
  if (parsed.success) return parsed.data;
  throw paramError("bucket", "is not a bucket's number");
}

function stateView(bucket: number, { role, moveEpoch }: BucketState): WireBucketState {
  return { bucket, role, move_epoch: moveEpoch };
}

async function getBucket(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const bucket = bucketIn(req);
  const read = await context.database.reader.primary(deadline, (db) => readBucketState(db, bucket));
  const state = { role: read.fence.buckets.get(bucket) ?? null, moveEpoch: read.rows[0]?.move_epoch ?? 0 };
  return ok(stateView(bucket, state), readHeaders(read));
}

/** Only rows that can no longer change are handed out: those of a bucket that this very move has fenced. */
async function exportRows(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const bucket = bucketIn(req);
  const query = validated(wireExportSchema, req.query);
  const after = { mchid: query.after_mchid, outTradeNo: query.after_out_trade_no };
  const read = await context.database.reader.primary(deadline, (db) =>
    readBucketRows(db, bucket, after, BUCKET_PAGE_ROWS_MAX),
  );
  if (read.fence.buckets.get(bucket) !== "MOVED" || read.rows[0]?.move_epoch !== query.move_epoch) {
    throw new DomainError("STATE_NOT_ALLOWED", "the bucket is not fenced by this move");
  }
  const rows = read.rows.flatMap(({ mchid, out_trade_no, transaction_id, request_hash }) =>
    mchid === null ? [] : [{ mchid, out_trade_no, transaction_id, request_hash } as WireIndexRow],
  );
  return ok({ rows }, readHeaders(read));
}

async function takeRows(context: HttpContext, req: Request): Promise<Answer> {
  const bucket = bucketIn(req);
  const { move_epoch: moveEpoch, rows } = bodyOf(req, wireImportSchema);
  const stray = rows.some((r) => bucketOf({ mchid: r.mchid, outTradeNo: r.out_trade_no }) !== bucket);
  if (stray) throw paramError("/rows", "all rows must be of this bucket");
  await context.faults.at("import.before-begin", subjectOf(req));
  const deadline = deadlineOf(req, context);
  const { writer } = context.database;
  const outcome = await writer.run(deadline, {}, (tx) => importRows(tx, bucket, moveEpoch, rows));
  return ok({ rows: valueOf(outcome) });
}
