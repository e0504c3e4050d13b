// GET /verdicts of a health checker, and the calls by which it probes a stripe. Probe paths are under /internal/v1 of a
// stripe service, with the headers of wire.ts.
import { z } from "zod";
import { STRIPE_NO_MAX } from "../ids.ts";
import { type CheckerVerdict, VERDICTS } from "../verdicts.ts";

export const VERDICTS_PATH = "/verdicts";

export const verdictSchema = z.enum(VERDICTS);

/** A change of one checker's verdict on one stripe. */
export const verdictChangeSchema = z.object({
  time: z.string(),
  stripe: z.int(),
  checker: z.string(),
  from: verdictSchema,
  to: verdictSchema,
  reason: z.string(),
  latency_ms: z.number().nullable(),
  success_rate: z.number().nullable(),
});
export type WireVerdictChange = z.infer<typeof verdictChangeSchema>;

const stripeVerdictSchema = z.object({
  stripe: z.int().min(1).max(STRIPE_NO_MAX),
  verdict: verdictSchema,
  since: z.string(),
  age_ms: z.number().min(0),
  reason: z.string(),
  latency_ms: z.number().nullable(),
  /** What is usual for this stripe. */
  baseline_ms: z.number().nullable(),
  /** Of the probes of the last seconds, 0 … 1. */
  success_rate: z.number().nullable(),
  /** Since the last probe ended. */
  probed_age_ms: z.number().nullable(),
});
export type WireStripeVerdict = z.infer<typeof stripeVerdictSchema>;

/** GET /verdicts?history=N */
export const verdictReportSchema = z.object({
  checker: z.string(),
  stripes: z.array(stripeVerdictSchema).max(STRIPE_NO_MAX),
  /** The newest changes of all checkers, newest first; only when asked for. */
  changes: z.array(verdictChangeSchema).optional(),
});
export type WireVerdictReport = z.infer<typeof verdictReportSchema>;

/** A report's words in the form that `mergeVerdicts` takes. */
export function verdictsOf(report: WireVerdictReport): CheckerVerdict[] {
  return report.stripes.map(({ stripe, verdict, since, age_ms: ageMs, latency_ms: latencyMs }) => {
    return { stripe, verdict, since, ageMs, latencyMs };
  });
}

const probeIdSchema = z.string().regex(/^[0-9a-f-]{36}$/);

/** POST /probes: the probe merchant's order, in a table of its own. */
export const wireProbeSchema = z.strictObject({
  probe_id: probeIdSchema,
  checker: z.string().regex(/^[0-9A-Za-z._-]{1,32}$/),
});
export type WireProbe = z.infer<typeof wireProbeSchema>;

/** Answer of POST /probes, GET /probes/{probe_id} and POST /probes/{probe_id}/close. */
export const wireProbeOrderSchema = z.object({
  probe_id: z.string(),
  state: z.enum(["OPEN", "CLOSED"]),
  version: z.int().min(1),
});
export type WireProbeOrder = z.infer<typeof wireProbeOrderSchema>;
