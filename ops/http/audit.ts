import { Router } from "express";
import type { Knex } from "knex";
import { z } from "zod";
import { paramError } from "../../core/errors.ts";
import { AUDIT_PAGE_MAX, listAudit } from "../db/list-audit.ts";

const querySchema = z.strictObject({
  subject: z.string().max(64).optional(),
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(AUDIT_PAGE_MAX).default(50),
});

/** `GET /audit?subject=stripe/7&before=ID&limit=N`: newest first. */
export function auditRoutes(control: Knex): Router {
  const router = Router();
  router.get("/audit", async (req, res) => {
    const query = querySchema.safeParse(req.query);
    if (!query.success) {
      const issue = query.error.issues[0];
      throw paramError(issue?.path.map(String).join(".") || "query", issue?.message ?? "wrong");
    }
    res.json({ audit: await listAudit(control, query.data) });
  });
  return router;
}
