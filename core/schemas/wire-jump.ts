// Calls between stripe services that settle a jumped order, and calls of the control plane that move a bucket's home.
// Paths are under /internal/v1 and headers are those of wire.ts. Every call may be repeated.
import { z } from "zod";
import { BUCKET_ROLES } from "../order-states.ts";
import { mchidSchema, merchantNoSchema, transactionIdSchema } from "./common.ts";
import { bucketSchema } from "./wire.ts";

const requestHashSchema = z.string().regex(/^[0-9a-f]{64}$/);
const keyMembers = { mchid: mchidSchema, out_trade_no: merchantNoSchema, bucket: bucketSchema };

/** POST /claims, at the bucket's home (else 421): makes the order the pointer of its number unless there is one. */
export const wireClaimSchema = z.strictObject({
  ...keyMembers,
  transaction_id: transactionIdSchema,
  request_hash: requestHashSchema,
});
export type WireClaim = z.infer<typeof wireClaimSchema>;

/** What the home's index says of a number after a claim or a repoint. */
export const wirePointerSchema = z.object({ transaction_id: transactionIdSchema, request_hash: requestHashSchema });
export type WirePointer = z.infer<typeof wirePointerSchema>;

/** POST /index/repoint, at the bucket's home (else 421): moves the pointer if it is `from`; answers what it is then. */
export const wireRepointSchema = z.strictObject({
  ...keyMembers,
  from: transactionIdSchema,
  to: transactionIdSchema,
  request_hash: requestHashSchema,
});
export type WireRepoint = z.infer<typeof wireRepointSchema>;

/** Why an order may take the place of the pointer; each is a fact that never reverts. */
export const SUPERSEDE_CLAIMS = ["PREFERRED", "PAID", "CLOSED"] as const;
export type SupersedeClaim = (typeof SUPERSEDE_CLAIMS)[number];

/** POST /orders/{transaction_id}/supersede, in that order's stripe. */
export const wireSupersedeSchema = z.strictObject({
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  by: transactionIdSchema,
  claim: z.enum(SUPERSEDE_CLAIMS),
});
export type WireSupersede = z.infer<typeof wireSupersedeSchema>;

export const SUPERSEDE_ANSWERS = ["YIELDS", "STAYS", "STAYS_PAID"] as const;
export type SupersedeAnswer = (typeof SUPERSEDE_ANSWERS)[number];
export const wireSupersedeAnswerSchema = z.object({ answer: z.enum(SUPERSEDE_ANSWERS) });

/** GET /handoffs/pending?older_ms=: for so long already; default 0. */
export const wirePendingQuerySchema = z.strictObject({
  older_ms: z.coerce.number().int().min(0).max(60_000).default(0),
});
/** Its answer: buckets of which this stripe holds orders that their home does not know yet. */
export const wirePendingSchema = z.object({ buckets: z.array(bucketSchema) });
export type WirePending = z.infer<typeof wirePendingSchema>;

const moveEpochSchema = z.int().min(1);

/** POST /buckets/{bucket}/import, …/fence and …/activate: the steps of a move; a step that was done answers as done. */
export const wireBucketStepSchema = z.strictObject({ move_epoch: moveEpochSchema });

/** What the stripe's own database says of a bucket; role null: this stripe has never had to do with it. */
export const wireBucketStateSchema = z.object({
  bucket: bucketSchema,
  role: z.enum(BUCKET_ROLES).nullable(),
  move_epoch: z.int().min(0),
});
export type WireBucketState = z.infer<typeof wireBucketStateSchema>;

/** Rows of one page of a bucket's index; a page of the longest rows stays within the body limit. */
export const BUCKET_PAGE_ROWS_MAX = 200;

const indexRowSchema = z.strictObject({
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  transaction_id: transactionIdSchema,
  request_hash: requestHashSchema,
});
export type WireIndexRow = z.infer<typeof indexRowSchema>;

/** GET /buckets/{bucket}/rows?move_epoch=&after_mchid=&after_out_trade_no=: only once the bucket is fenced. */
export const wireExportSchema = z.strictObject({
  move_epoch: z.coerce.number().pipe(moveEpochSchema),
  after_mchid: z.union([mchidSchema, z.literal("")]).default(""),
  after_out_trade_no: z.union([merchantNoSchema, z.literal("")]).default(""),
});
export const wireBucketRowsSchema = z.object({ rows: z.array(indexRowSchema).max(BUCKET_PAGE_ROWS_MAX) });

/** POST /buckets/{bucket}/rows: overwrites rows of a bucket that is being imported under this epoch. */
export const wireImportSchema = z.strictObject({
  move_epoch: moveEpochSchema,
  rows: z.array(indexRowSchema).min(1).max(BUCKET_PAGE_ROWS_MAX),
});
export type WireImport = z.infer<typeof wireImportSchema>;
