import { Router } from "express";
import type { Knex } from "knex";
import { z } from "zod";
import { paramError } from "../../core/errors.ts";
import { CREATE_POLICIES, type MerchantRow, partitionNameSchema } from "../../core/routing-table.ts";
import { mchidSchema } from "../../core/schemas/common.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { listMerchants, MERCHANTS_PAGE_MAX, upsertMerchant } from "../db/merchants.ts";
import { rawBody, readJson } from "./read-json.ts";
import { actorOf } from "./stripes.ts";

const querySchema = z.strictObject({
  mchid: mchidSchema.optional(),
  after: mchidSchema.optional(),
  limit: z.coerce.number().int().min(1).max(MERCHANTS_PAGE_MAX).default(100),
});

export const merchantSchema = z
  .strictObject({
    mchid: mchidSchema,
    partition: partitionNameSchema.optional(),
    create_policy: z.enum(CREATE_POLICIES).optional(),
  })
  .refine(
    (body) => body.partition !== undefined || body.create_policy !== undefined,
    "nothing to set: give partition or create_policy",
  );

function view({ mchid, partition, createPolicy, formerPartitions }: MerchantRow): object {
  return { mchid, partition, create_policy: createPolicy, former_partitions: formerPartitions };
}

/** `GET /merchants?mchid=&after=&limit=`: those that differ from the defaults; `POST /merchants` adds or changes one. */
export function merchantRoutes(control: Knex): Router {
  const router = Router();
  router.get("/merchants", async (req, res) => {
    const query = querySchema.safeParse(req.query);
    if (!query.success) {
      const issue = query.error.issues[0];
      throw paramError(issue?.path.map(String).join(".") || "query", issue?.message ?? "wrong");
    }
    res.json({ merchants: (await listMerchants(control, query.data)).map(view) });
  });
  router.post("/merchants", rawBody, async (req, res) => {
    const { mchid, partition, create_policy: createPolicy } = readJson(req, merchantSchema);
    const by = { actor: actorOf(req), requestId: requestIdFrom(res) };
    res.json(view(await upsertMerchant(control, { mchid, partition, createPolicy }, by)));
  });
  return router;
}
