import { type Request, Router } from "express";
import { wireFirstHomesSchema } from "../../core/schemas/wire.ts";
import { takeFirstHomes } from "../buckets/first-homes.ts";
import { readHomeBuckets } from "../db/first-homes.ts";
import { type Answer, ok, readHeaders, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf } from "./request.ts";

/** Which buckets the stripe is home to, and those that no stripe of its partition was home to before. */
export function firstHomeRoutes(context: HttpContext): Router {
  const router = Router();
  router.get(
    "/home-buckets",
    route(context, "get-home-buckets", (req) => homeBuckets(context, req)),
  );
  router.post(
    "/first-homes",
    route(context, "take-first-homes", (req) => firstHomes(context, req)),
  );
  return router;
}

async function homeBuckets(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const read = await context.database.reader.primary(deadline, readHomeBuckets);
  return ok({ buckets: [...read.fence.buckets.keys()].sort((a, b) => a - b) }, readHeaders(read));
}

async function firstHomes(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const { partition, buckets } = bodyOf(req, wireFirstHomesSchema);
  const { writer } = context.database;
  const outcome = await writer.run(deadline, { lock: "UPDATE" }, (tx) => takeFirstHomes(tx, partition, buckets));
  return ok(valueOf(outcome));
}
