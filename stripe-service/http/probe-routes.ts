// The health checkers' way through the service: the same pools, breakers, fence and deadlines as merchants' requests.
import { type Request, Router } from "express";
import { paramError } from "../../core/errors.ts";
import { wireProbeSchema } from "../../core/schemas/wire-verdicts.ts";
import { readProbeOrder } from "../db/probe-orders.ts";
import { closeProbe, createProbe, probeNotExist } from "../probe/probe-orders.ts";
import { type Answer, ok, readHeaders, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf } from "./request.ts";

export function probeRoutes(context: HttpContext): Router {
  const router = Router();
  router.post(
    "/probes",
    route(context, "probe-create", (req) => create(context, req)),
  );
  router.get(
    "/probes/:probe_id",
    route(context, "probe-query", (req) => query(context, req)),
  );
  router.post(
    "/probes/:probe_id/close",
    route(context, "probe-close", (req) => close(context, req)),
  );
  return router;
}

function probeIdIn(req: Request): string {
  const { probe_id: probeId } = req.params;
  if (typeof probeId === "string" && wireProbeSchema.shape.probe_id.safeParse(probeId).success) return probeId;
  throw paramError("probe_id", "is not a probe's id");
}

async function create(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probe = bodyOf(req, wireProbeSchema);
  return ok(valueOf(await context.database.writer.run(deadline, {}, (tx) => createProbe(tx, probe))));
}

async function query(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probeId = probeIdIn(req);
  const read = await context.database.reader.primary(deadline, (db) => readProbeOrder(db, probeId));
  const [row] = read.rows;
  if (row === undefined || row.probe_id === null) throw probeNotExist();
  return ok({ probe_id: row.probe_id, state: row.state, version: row.version }, readHeaders(read));
}

async function close(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const probeId = probeIdIn(req);
  return ok(valueOf(await context.database.writer.run(deadline, {}, (tx) => closeProbe(tx, probeId))));
}
