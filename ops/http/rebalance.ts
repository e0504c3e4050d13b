import { DomainError } from "../../core/errors.ts";
import type { Rebalancer } from "../bucket-move/rebalancer.ts";
import { actorOf, partitionParam } from "./headers.ts";
import type { OpsRoute } from "./ops-router.ts";

/**
 * `POST /partitions/{partition}/rebalance` begins to move buckets until each stripe of the partition is home to its share
 * by weight, and gives 202; `GET` of the same path tells how far it is: RUNNING, DONE or FAILED, with the numbers of
 * buckets planned, moved, and left where they are because a stripe does not answer. Again: goes on with what is left.
 */
export function rebalanceRoutes(rebalancer: Rebalancer): OpsRoute[] {
  const path = "/partitions/:partition/rebalance";
  return [
    {
      method: "post",
      path,
      handle: (req, res) => {
        const partition = partitionParam(req);
        res.status(202).json({ partition, ...rebalancer.start(partition, actorOf(req)) });
      },
    },
    {
      method: "get",
      path,
      handle: (req, res) => {
        const partition = partitionParam(req);
        const state = rebalancer.state(partition);
        if (state === undefined)
          throw new DomainError("NOT_FOUND", "nothing was rebalanced since this process started");
        res.json({ partition, ...state });
      },
    },
  ];
}
