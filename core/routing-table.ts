// The routing table: what proxies know of the stripes. The control database holds it; every change raises its version.
import { z } from "zod";
import { BUCKET_COUNT, STRIPE_WEIGHT_MAX } from "./placement.ts";
import { STRIPE_NO_MAX, type StripeNo } from "./ids.ts";

export const TEMPERATURES = ["hot", "warm", "cold"] as const;
export type Temperature = (typeof TEMPERATURES)[number];

export const CREATE_POLICIES = ["jump", "strict"] as const;
export type CreatePolicy = (typeof CREATE_POLICIES)[number];

export const DEFAULT_PARTITION = "standard";

export const partitionNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "lower-case letters, digits, hyphens; ≤ 32");
export const stripeNoSchema = z
  .int()
  .min(1)
  .max(STRIPE_NO_MAX)
  .transform((n) => n as StripeNo);
export const weightSchema = z.int().min(0).max(STRIPE_WEIGHT_MAX);

export const stripeRowSchema = z.strictObject({
  stripe: stripeNoSchema,
  /** Version of this row alone; the ETag of the ops API. */
  version: z.int().min(1),
  place: z.int().min(1),
  tripleId: z.string(),
  temperature: z.enum(TEMPERATURES),
  weight: weightSchema,
  partition: partitionNameSchema,
  blocked: z.boolean(),
  /** Base URLs of the stripe's service instances; `dns+http://NAME:PORT` stands for every address of a name. */
  services: z.array(z.string()),
});
export type StripeRow = z.infer<typeof stripeRowSchema>;

export const partitionRowSchema = z.strictObject({
  partition: partitionNameSchema,
  /** Home stripe of each bucket. */
  buckets: z.array(stripeNoSchema.nullable()).length(BUCKET_COUNT),
});
export type PartitionRow = z.infer<typeof partitionRowSchema>;

export const FORMER_PARTITIONS_MAX = 8;

export const merchantRowSchema = z.strictObject({
  mchid: z.string(),
  partition: partitionNameSchema,
  createPolicy: z.enum(CREATE_POLICIES),
  /** Partitions that the merchant was in before, the newest first: they may hold its numbers. */
  formerPartitions: z.array(partitionNameSchema).max(FORMER_PARTITIONS_MAX).default([]),
});
export type MerchantRow = z.infer<typeof merchantRowSchema>;

/** A share of a partition's merchants is placed in another partition, to try something new there. */
export const trialRowSchema = z.strictObject({
  partition: partitionNameSchema,
  to: partitionNameSchema,
  /** One in ten thousand of the merchants, 0 … 10,000. */
  permyriad: z.int().min(0).max(10_000),
  /** The largest share that there ever was: those merchants may have numbers in `to`. */
  permyriadMax: z.int().min(0).max(10_000),
});
export type TrialRow = z.infer<typeof trialRowSchema>;

export const routingTableSchema = z.strictObject({
  version: z.int().min(0),
  stripes: z.array(stripeRowSchema),
  partitions: z.array(partitionRowSchema),
  /** Only merchants that differ from the defaults (partition `standard`, policy `jump`). */
  merchants: z.array(merchantRowSchema),
  /** At most one for each partition. */
  trials: z.array(trialRowSchema).default([]),
});
export type RoutingTable = z.infer<typeof routingTableSchema>;

/** Whether the table lets a stripe take new orders of a partition (health is not the table's business). */
export function takesCreates(row: StripeRow, partition: string): boolean {
  return row.temperature === "hot" && !row.blocked && row.weight > 0 && row.partition === partition;
}
