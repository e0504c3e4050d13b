import type { Knex } from "knex";
import { z } from "zod";
import type { MerchantRow } from "../../core/routing-table.ts";
import { mchidSchema } from "../../core/schemas/common.ts";
import { merchantSchema } from "../../core/schemas/ops.ts";
import { checkValue } from "../../runtime/edge/body.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { listMerchants, MERCHANTS_PAGE_MAX, upsertMerchant } from "../db/merchants.ts";
import { actorOf } from "./headers.ts";
import type { OpsRoute } from "./ops-router.ts";
import { readJson } from "./read-json.ts";

const querySchema = z.strictObject({
  mchid: mchidSchema.optional(),
  after: mchidSchema.optional(),
  limit: z.coerce.number().int().min(1).max(MERCHANTS_PAGE_MAX).default(100),
});

function view({ mchid, partition, createPolicy, formerPartitions }: MerchantRow): object {
  return { mchid, partition, create_policy: createPolicy, former_partitions: formerPartitions };
}

/** `GET /merchants?mchid=&after=&limit=`: those that differ from the defaults; `POST /merchants` adds or changes one. */
export function merchantRoutes(control: Knex): OpsRoute[] {
  return [
    {
      method: "get",
      path: "/merchants",
      query: ["mchid", "after", "limit"],
      handle: async (_req, res, query) => {
        res.json({ merchants: (await listMerchants(control, checkValue(querySchema, query, "names"))).map(view) });
      },
    },
    {
      method: "post",
      path: "/merchants",
      handle: async (req, res) => {
        const {
          mchid,
          partition,
          create_policy: createPolicy,
          former_partitions: former,
        } = await readJson(req, merchantSchema);
        const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
        res.json(
          view(await upsertMerchant(control, { mchid, partition, createPolicy, noneBefore: former !== undefined }, by)),
        );
      },
    },
  ];
}
