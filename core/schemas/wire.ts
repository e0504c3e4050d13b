// The hop from proxy to stripe service. Paths are under /internal/v1; answers are the merchant's answers, ready to be
// passed on byte for byte, except where a schema here says otherwise. Headers on every request: `Stripe-Place`,
// `Routing-Version`, `Deadline-Ms` (what is left of the caller's deadline, a duration), `Request-Id`, `traceparent`.
import { z } from "zod";
import { HANDOFF_STATES } from "../order-states.ts";
import { BUCKET_COUNT } from "../placement.ts";
import { partitionNameSchema } from "../routing-table.ts";
import { mchidSchema, merchantNoSchema, transactionIdSchema } from "./common.ts";
import { createOrderSchema } from "./orders.ts";

export const INTERNAL_BASE = "/internal/v1";

export const WIRE_HEADERS = {
  place: "stripe-place",
  routingVersion: "routing-version",
  deadlineMs: "deadline-ms",
  /** On creates, look-ups, claims and repoints: the partition that the caller takes the stripe to be in; else 421. */
  partition: "stripe-partition",
  requestId: "request-id",
  traceparent: "traceparent",
  /**
   * In the answer to a create or look-up: the key is known here, and its order is on another stripe. A definite answer:
   * after it the proxy must not jump.
   */
  orderPointer: "order-pointer",
} as const;

export const JUMPS_MAX = 3;

export const bucketSchema = z
  .int()
  .min(0)
  .max(BUCKET_COUNT - 1);

/** POST /orders */
export const wireCreateSchema = z.strictObject({
  transaction_id: transactionIdSchema,
  bucket: bucketSchema,
  /** The proxy's view; the stripe decides by its own `bucket_state` row. */
  as: z.enum(["HOME", "JUMP"]),
  /** This request's earlier numbers whose outcome is unknown, oldest first. */
  failed: z.array(transactionIdSchema).max(JUMPS_MAX),
  request_hash: z.string().regex(/^[0-9a-f]{64}$/),
  order: createOrderSchema.extend({ time_expire: z.string().optional() }),
});
export type WireCreate = z.infer<typeof wireCreateSchema>;

/** GET /lookup?mchid=&out_trade_no=&in=: `index` (only where the bucket is HOME, else 421) or `handoffs`. */
export const wireLookupSchema = z.strictObject({
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  bucket: z.coerce.number().pipe(bucketSchema),
  in: z.enum(["index", "handoffs"]),
});
export type WireLookup = z.infer<typeof wireLookupSchema>;

export const SEQUENCE_BLOCK_MAX = 10_000;

/** POST /sequence-blocks: a block of sequence numbers, leased for ever (gaps are harmless). */
export const wireSequenceRequestSchema = z.strictObject({ size: z.int().min(1).max(SEQUENCE_BLOCK_MAX) });
/** Numbers first … first+size−1 are the caller's alone. */
export const wireSequenceBlockSchema = z.object({ first: z.int().min(0), size: z.int().min(1) });
export type WireSequenceBlock = z.infer<typeof wireSequenceBlockSchema>;

/** GET and PUT /stripe-state: what the stripe accepts, a row in its own database. */
export const wireStripeStateSchema = z.object({
  accepts_creates: z.boolean(),
  accepts_writes: z.boolean(),
  /** Never falls: a PUT with a smaller one is refused with 409. */
  routing_version: z.int().min(0),
  /** Whose merchants it serves. Absent: in a PUT left as it is, in an answer not told yet. */
  partition: partitionNameSchema.optional(),
});
export type WireStripeState = z.infer<typeof wireStripeStateSchema>;

/** GET /stats: what operators want to see of a stripe. */
export const wireStatsSchema = z.object({
  place: z.int(),
  role: z.string(),
  home_buckets: z.int(),
  /** Counted up to 10,000 each. */
  handoffs: z.record(z.enum(HANDOFF_STATES), z.int()),
  /** Beyond 10,000 an estimate from the newest ones. */
  creates_last_minute: z.int(),
  oldest_order_time: z.string().nullable(),
  newest_order_time: z.string().nullable(),
  stripe_state: wireStripeStateSchema,
});
export type WireStats = z.infer<typeof wireStatsSchema>;

/** GET /home-buckets: the buckets that the stripe's own database calls it home to. */
export const wireHomeBucketsSchema = z.object({ buckets: z.array(bucketSchema).max(BUCKET_COUNT) });

/** POST /first-homes: buckets that no stripe of the partition was ever home to. */
export const wireFirstHomesSchema = z.strictObject({
  partition: partitionNameSchema,
  buckets: z.array(bucketSchema).min(1).max(BUCKET_COUNT),
});
