import { Router } from "express";
import { DomainError, paramError } from "../../core/errors.ts";
import { partitionNameSchema } from "../../core/routing-table.ts";
import type { Rebalancer } from "../bucket-move/rebalancer.ts";
import { actorOf } from "./stripes.ts";

/**
 * `POST /partitions/{partition}/rebalance` begins to move buckets until each stripe of the partition is home to its share
 * by weight, and gives 202; `GET` of the same path tells how far it is: RUNNING, DONE or FAILED, with the numbers of
 * buckets planned, moved, and left where they are because a stripe does not answer. Again: goes on with what is left.
 */
export function rebalanceRoutes(rebalancer: Rebalancer): Router {
  const router = Router();
  const partitionIn = (text: unknown): string => {
    const parsed = partitionNameSchema.safeParse(text);
    if (parsed.success) return parsed.data;
    throw paramError("partition", "is not a partition's name");
  };
  router.post("/partitions/:partition/rebalance", (req, res) => {
    const partition = partitionIn(req.params.partition);
    res.status(202).json({ partition, ...rebalancer.start(partition, actorOf(req)) });
  });
  router.get("/partitions/:partition/rebalance", (req, res) => {
    const partition = partitionIn(req.params.partition);
    const state = rebalancer.state(partition);
    if (state === undefined) throw new DomainError("NOT_FOUND", "nothing was rebalanced since this process started");
    res.json({ partition, ...state });
  });
  return router;
}
