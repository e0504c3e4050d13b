// The health checkers' way through the service, which is that of merchants' requests: the hop, the queue and the batches
// of the group commit, the pools, breakers, fence and deadlines.
import { Router } from "express";
import { paramError } from "../../core/errors.ts";
import { wireProbeSchema } from "../../core/schemas/wire-verdicts.ts";
import { readProbeOrder } from "../db/probe-orders.ts";
import { probeNotExist } from "../probe/probe-orders.ts";
import { type Answer, type Endpoint, ok, readHeaders, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf, type Incoming } from "./request.ts";

export function probeRoutes(context: HttpContext): Router {
  const { create, query, close } = probeEndpoints(context);
  const router = Router();
  router.post("/probes", route(context, create.operation, create.work));
  router.get("/probes/:probe_id", route(context, query.operation, query.work));
  router.post("/probes/:probe_id/close", route(context, close.operation, close.work));
  return router;
}

/** What comes by the hop too. */
export function probeEndpoints(context: HttpContext): Readonly<Record<"create" | "query" | "close", Endpoint>> {
  return {
    create: { operation: "probe-create", work: (req) => create(context, req) },
    query: { operation: "probe-query", work: (req) => query(context, req) },
    close: { operation: "probe-close", work: (req) => close(context, req) },
  };
}

function probeIdIn(req: Incoming): string {
  const { probe_id: probeId } = req.params;
  if (typeof probeId === "string" && wireProbeSchema.shape.probe_id.safeParse(probeId).success) return probeId;
  throw paramError("probe_id", "is not a probe's id");
}

async function create(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probe = bodyOf(req, wireProbeSchema);
  return ok(valueOf(await context.database.groupCommit.run(deadline, { kind: "probe-create", probe })));
}

async function query(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probeId = probeIdIn(req);
  const read = await context.database.reader.primary(deadline, (db) => readProbeOrder(db, probeId));
  const [row] = read.rows;
  if (row === undefined || row.probe_id === null) throw probeNotExist();
  return ok({ probe_id: row.probe_id, state: row.state, version: row.version }, readHeaders(read));
}

async function close(context: HttpContext, req: Incoming): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probeId = probeIdIn(req);
  return ok(valueOf(await context.database.groupCommit.run(deadline, { kind: "probe-close", probeId })));
}
