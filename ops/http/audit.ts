import type { Knex } from "knex";
import { z } from "zod";
import { checkValue } from "../../runtime/edge/body.ts";
import { AUDIT_PAGE_MAX, listAudit } from "../db/list-audit.ts";
import type { OpsRoute } from "./ops-router.ts";

const querySchema = z.strictObject({
  subject: z.string().max(64).optional(),
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(AUDIT_PAGE_MAX).default(50),
});

/** `GET /audit?subject=stripe/7&before=ID&limit=N`: newest first. */
export function auditRoutes(control: Knex): OpsRoute[] {
  return [
    {
      method: "get",
      path: "/audit",
      query: ["subject", "before", "limit"],
      handle: async (_req, res, query) => {
        res.json({ audit: await listAudit(control, checkValue(querySchema, query, "names")) });
      },
    },
  ];
}
