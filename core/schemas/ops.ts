// Requests and answers of the ops API.
import { z } from "zod";
import { PERMYRIAD } from "../partitions.ts";
import { CREATE_POLICIES, partitionNameSchema, TEMPERATURES, weightSchema } from "../routing-table.ts";
import { serverNameSchema } from "../agent-wire.ts";
import { VERDICTS } from "../verdicts.ts";
import { mchidSchema, utcTimeSchema } from "./common.ts";
import { wireServerSchema } from "./wire-servers.ts";
import { wireStatsSchema } from "./wire.ts";

const PERCENT = 100;
/** Shares are kept in parts of ten thousand: per cent have at most two decimals. */
export const PERMYRIAD_PER_PERCENT = PERMYRIAD / PERCENT;

export const stripePatchSchema = z
  .strictObject({
    temperature: z.enum(TEMPERATURES).optional(),
    blocked: z.boolean().optional(),
    weight: weightSchema.optional(),
    partition: partitionNameSchema.optional(),
  })
  .refine(
    (patch) => Object.keys(patch).length > 0,
    "nothing to change: give temperature, blocked, weight or partition",
  );
export type StripePatch = z.infer<typeof stripePatchSchema>;

export const merchantSchema = z
  .strictObject({
    mchid: mchidSchema,
    partition: partitionNameSchema.optional(),
    create_policy: z.enum(CREATE_POLICIES).optional(),
    former_partitions: z
      .array(partitionNameSchema)
      .max(0)
      .optional()
      .meta({
        description:
          "`[]`: the merchant has no number in any other partition, as one that is new. Its creates then ask no other " +
          "partition, and do not wait for one that is away.",
      }),
  })
  .refine((body) => Object.keys(body).length > 1, "nothing to set: give partition, create_policy or former_partitions");

export const trialSchema = z.strictObject({
  to: partitionNameSchema,
  percent: z
    .number()
    .min(0)
    .max(PERCENT)
    .refine((percent) => {
      const parts = percent * PERMYRIAD_PER_PERCENT;
      return Math.abs(parts - Math.round(parts)) < 1e-6;
    }, "at most two decimals")
    .meta({ description: "Of the partition's merchants, with at most two decimals." }),
});

export const switchoverSchema = z.strictObject({
  to: serverNameSchema
    .optional()
    .meta({ description: "Server that shall lead; without it the controller takes the replica that is furthest." }),
});

const recoverySchema = z.object({
  recovery_id: z.string(),
  kind: z.string(),
  problem: z.string(),
  source_before: z.string(),
  source_after: z.string().nullable(),
  victim: z.string().nullable(),
  outcome: z.string().nullable().meta({ description: "null while it runs." }),
  detail: z.string().nullable(),
  start_time: utcTimeSchema,
  finish_time: utcTimeSchema.nullable(),
});

export const tripleViewSchema = z.object({
  source: z.string(),
  epoch: z.int(),
  phase: z.string(),
  tenure: z.int(),
  ack_set: z.array(z.string()).meta({ description: "Replicas of which one at least holds every acknowledged write." }),
  led_by: z.string(),
  recoveries: z.array(recoverySchema).meta({ description: "The newest, newest first." }),
});
export type TripleView = z.infer<typeof tripleViewSchema>;

export const stripeViewSchema = z.object({
  stripe: z.int(),
  version: z.int().meta({ description: "The ETag." }),
  place: z.int(),
  triple_id: z.string(),
  temperature: z.enum(TEMPERATURES),
  weight: weightSchema,
  partition: partitionNameSchema,
  blocked: z.boolean(),
  services: z.array(z.string()),
  buckets: z.int().meta({ description: "Buckets that it is home to, by the table." }),
  share: z
    .object({
      of_buckets: z.number().meta({ description: "The part of creates that should come here, 0 … 1." }),
      of_recent_creates: z.number().nullable().meta({ description: "Of the partition's creates of the last minute." }),
    })
    .optional()
    .meta({ description: "In the list only." }),
  reachable: z.boolean(),
  applied: z
    .boolean()
    .nullable()
    .meta({ description: "Whether the stripe's own database says what the table wants; null = it did not answer." }),
  health: z
    .object({
      verdict: z.enum(VERDICTS),
      since: z.string(),
      latency_ms: z.number().nullable(),
      checkers: z.int().meta({ description: "Checkers that have an opinion." }),
    })
    .nullable()
    .meta({ description: "What the health checkers say together; null = none knows the stripe." }),
  facts: wireStatsSchema
    .nullable()
    .meta({ description: "From the stripe's own database: orders, handoffs, creates of the last minute." }),
  triple: tripleViewSchema.nullable().meta({ description: "null before the triple was first opened." }),
  servers: z
    .array(wireServerSchema)
    .nullable()
    .meta({ description: "Source and replicas as the failover controller sees them; null = none answered." }),
});
export type StripeView = z.infer<typeof stripeViewSchema>;
export const stripeListSchema = z.object({ stripes: z.array(stripeViewSchema) });

const trialViewSchema = z.object({ to: partitionNameSchema, percent: z.number(), percent_max: z.number() });
export const partitionListSchema = z.object({
  partitions: z.array(
    z.object({
      partition: partitionNameSchema,
      stripes: z.array(z.object({ stripe: z.int(), weight: z.int(), buckets: z.int() })),
      homes: z.int().meta({ description: "Buckets that have a home, of 1024." }),
      trial: trialViewSchema.nullable(),
    }),
  ),
});
export const partitionTrialSchema = trialViewSchema.extend({ partition: partitionNameSchema });
export const firstHomesSchema = z.object({
  given: z.int().meta({ description: "Buckets that got a home now; the others had one." }),
});
export const rebalanceSchema = z.object({
  partition: partitionNameSchema,
  state: z.enum(["RUNNING", "DONE", "FAILED"]),
  reason: z.string().optional(),
  planned: z.int(),
  moved: z.int(),
  left: z.int().meta({ description: "Left where they are, because a stripe does not answer." }),
});

export const merchantViewSchema = z.object({
  mchid: mchidSchema,
  partition: partitionNameSchema,
  create_policy: z.enum(CREATE_POLICIES),
  former_partitions: z.array(partitionNameSchema),
});
export const merchantListSchema = z.object({ merchants: z.array(merchantViewSchema) });

export const auditListSchema = z.object({
  audit: z.array(
    z.object({
      id: z.int(),
      time: utcTimeSchema,
      actor: z.string(),
      action: z.string(),
      subject: z.string(),
      before: z.unknown(),
      after: z.unknown(),
      request_id: z.string().nullable(),
    }),
  ),
});

export const taskStartedSchema = z.object({
  id: z.string(),
  kind: z.string(),
  state: z.string(),
  url: z.string(),
});
export const taskSchema = z.object({
  id: z.string(),
  kind: z.string(),
  triple: z.string(),
  to: z.string().nullable(),
  requested_by: z.string(),
  request_time: utcTimeSchema,
  state: z.string().meta({
    description:
      "WAITING, RUNNING, DONE, REFUSED (a pre-check did not hold; nothing changed), UNDONE (a step failed; the old source leads), EXPIRED (no controller took it).",
  }),
  detail: z.string().nullable(),
  recovery_id: z.string().nullable(),
  finish_time: utcTimeSchema.nullable(),
  steps: z.array(
    z.object({
      step: z.string(),
      server: z.string().nullable(),
      outcome: z.string(),
      took_ms: z.int(),
      detail: z.string().nullable(),
      step_time: utcTimeSchema,
    }),
  ),
});
