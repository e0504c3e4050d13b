import type { TrialRow } from "../../core/routing-table.ts";
import { PERMYRIAD_PER_PERCENT, trialSchema } from "../../core/schemas/ops.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { listPartitions } from "../db/partitions.ts";
import { setTrial } from "../db/set-trial.ts";
import { type FirstHomesDeps, giveFirstHomes } from "../first-homes.ts";
import { actorOf, partitionParam } from "./headers.ts";
import type { OpsRoute } from "./ops-router.ts";
import { readJson } from "./read-json.ts";

function trialView({ to, permyriad, permyriadMax }: Omit<TrialRow, "partition">): object {
  return { to, percent: permyriad / PERMYRIAD_PER_PERCENT, percent_max: permyriadMax / PERMYRIAD_PER_PERCENT };
}

/**
 * `GET /partitions`; `POST /partitions/{partition}` gives its buckets their first homes (only those that never had one);
 * `POST /partitions/{partition}/trial` places a share of its merchants in another partition.
 */
export function partitionRoutes(deps: FirstHomesDeps): OpsRoute[] {
  const { control } = deps;
  return [
    {
      method: "get",
      path: "/partitions",
      handle: async (_req, res) => {
        const partitions = await listPartitions(control);
        const views = partitions.map((p) => ({ ...p, trial: p.trial === null ? null : trialView(p.trial) }));
        res.json({ partitions: views });
      },
    },
    {
      method: "post",
      path: "/partitions/:partition",
      handle: async (req, res) => {
        const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
        res.json(await giveFirstHomes(deps, partitionParam(req), by));
      },
    },
    {
      method: "post",
      path: "/partitions/:partition/trial",
      handle: async (req, res) => {
        const partition = partitionParam(req);
        const { to, percent } = await readJson(req, trialSchema);
        const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
        const permyriad = Math.round(percent * PERMYRIAD_PER_PERCENT);
        res.json({ partition, ...trialView(await setTrial(control, { partition, to, permyriad }, by)) });
      },
    },
  ];
}
