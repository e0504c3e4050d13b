import { type Request, Router } from "express";
import { z } from "zod";
import { paramError } from "../../core/errors.ts";
import { PERMYRIAD } from "../../core/partitions.ts";
import { partitionNameSchema, type TrialRow } from "../../core/routing-table.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { listPartitions } from "../db/partitions.ts";
import { setTrial } from "../db/set-trial.ts";
import { type FirstHomesDeps, giveFirstHomes } from "../first-homes.ts";
import { rawBody, readJson } from "./read-json.ts";
import { actorOf } from "./stripes.ts";

const PERCENT = 100;
const PER_PERCENT = PERMYRIAD / PERCENT;

export const trialSchema = z.strictObject({
  to: partitionNameSchema,
  /** Of the partition's merchants, with at most two decimals. */
  percent: z
    .number()
    .min(0)
    .max(PERCENT)
    .refine(
      (percent) => Math.abs(percent * PER_PERCENT - Math.round(percent * PER_PERCENT)) < 1e-6,
      "at most two decimals",
    ),
});

function partitionParam(req: Request): string {
  const parsed = partitionNameSchema.safeParse(req.params.partition);
  if (parsed.success) return parsed.data;
  throw paramError("partition", "is not a partition's name");
}

function trialView({ to, permyriad, permyriadMax }: Omit<TrialRow, "partition">): object {
  return { to, percent: permyriad / PER_PERCENT, percent_max: permyriadMax / PER_PERCENT };
}

/**
 * `GET /partitions`; `POST /partitions/{partition}` gives its buckets their first homes (only those that never had one);
 * `POST /partitions/{partition}/trial` places a share of its merchants in another partition.
 */
export function partitionRoutes(deps: FirstHomesDeps): Router {
  const { control } = deps;
  const router = Router();
  router.get("/partitions", async (_req, res) => {
    const partitions = await listPartitions(control);
    res.json({
      partitions: partitions.map((p) => ({ ...p, trial: p.trial === null ? null : trialView(p.trial) })),
    });
  });
  router.post("/partitions/:partition", async (req, res) => {
    const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
    res.json(await giveFirstHomes(deps, partitionParam(req), by));
  });
  router.post("/partitions/:partition/trial", rawBody, async (req, res) => {
    const partition = partitionParam(req);
    const { to, percent } = readJson(req, trialSchema);
    const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
    const permyriad = Math.round(percent * PER_PERCENT);
    res.json({ partition, ...trialView(await setTrial(control, { partition, to, permyriad }, by)) });
  });
  return router;
}
