import { Router } from "express";
import { faultRuleSchema } from "../faults.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf } from "./request.ts";

/** `POST /faults` arms one rule, `DELETE /faults` forgets all and lets go what they hold. Mounted in test builds only. */
export function faultRoutes({ faults }: HttpContext): Router {
  const router = Router();
  router.post("/faults", (req, res) => {
    faults.arm(bodyOf(req, faultRuleSchema));
    res.json({});
  });
  router.delete("/faults", (_req, res) => {
    faults.clear();
    res.json({});
  });
  return router;
}
