// Requests and answers of the merchant endpoints. The validation, the TypeScript types and the OpenAPI document all
// come from these schemas.
import { z } from "zod";
import { CLOSE_REASONS, EVENT_TYPES, REFUND_STATUSES, TRADE_STATES } from "../order-states.ts";
import {
  currencySchema,
  httpUrlSchema,
  instantSchema,
  mchidSchema,
  merchantNoSchema,
  minorUnitsSchema,
  payerSchema,
  refundIdSchema,
  successTimeSchema,
  textSchema,
  transactionIdSchema,
  utcTimeSchema,
} from "./common.ts";

export const DESCRIPTION_MAX = 127;
export const ATTACH_MAX = 128;
export const REASON_MAX = 80;

export const amountSchema = z.strictObject({ total: minorUnitsSchema, currency: currencySchema });

export const createOrderSchema = z.strictObject({
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  description: textSchema(1, DESCRIPTION_MAX),
  amount: amountSchema,
  time_expire: instantSchema.optional(),
  notify_url: httpUrlSchema.optional(),
  attach: textSchema(0, ATTACH_MAX).optional(),
  payer: payerSchema.optional(),
});
export type CreateOrder = z.infer<typeof createOrderSchema>;

export const payOrderSchema = z.strictObject({
  out_pay_no: merchantNoSchema,
  amount: amountSchema,
  payer: payerSchema.optional(),
  channel: z
    .string()
    .regex(/^[0-9A-Za-z_.-]{1,32}$/, "1…32 of 0-9 A-Z a-z _ . -")
    .optional(),
  channel_transaction_id: z
    .string()
    .regex(/^[0-9A-Za-z_*|@.:-]{1,64}$/, "1…64 of 0-9 A-Z a-z _ * | @ . : -")
    .optional(),
  success_time: successTimeSchema.optional(),
});
export type PayOrder = z.infer<typeof payOrderSchema>;

export const createRefundSchema = z.strictObject({
  out_refund_no: merchantNoSchema,
  amount: z.strictObject({ refund: minorUnitsSchema, total: minorUnitsSchema, currency: currencySchema }),
  reason: textSchema(1, REASON_MAX).optional(),
});
export type CreateRefund = z.infer<typeof createRefundSchema>;

export const refundResultSchema = z.strictObject({ status: z.enum(["SUCCESS", "CLOSED", "ABNORMAL"]) });
export type RefundResultRequest = z.infer<typeof refundResultSchema>;

/** A close has no content; an empty body or an empty object. */
export const closeOrderSchema = z.strictObject({});

export const readModeSchema = z.enum(["primary", "replica"]);

const wholeAmount = z.int().min(0);

export const orderSchema = z.object({
  transaction_id: transactionIdSchema,
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  description: z.string(),
  attach: z.string().optional(),
  payer: payerSchema.optional(),
  notify_url: z.string().optional(),
  amount: z.object({
    total: minorUnitsSchema,
    currency: currencySchema,
    refunded: wholeAmount,
    refunding: wholeAmount,
    refundable: wholeAmount,
  }),
  trade_state: z.enum(TRADE_STATES),
  payable: z.boolean(),
  close_reason: z.enum(CLOSE_REASONS).optional(),
  superseded_by: transactionIdSchema.optional(),
  create_time: utcTimeSchema,
  time_expire: utcTimeSchema,
  success_time: utcTimeSchema.optional(),
  close_time: utcTimeSchema.optional(),
  out_pay_no: merchantNoSchema.optional(),
  version: z.int().min(1),
});
export type Order = z.input<typeof orderSchema>;

export const refundSchema = z.object({
  refund_id: refundIdSchema,
  out_refund_no: merchantNoSchema,
  transaction_id: transactionIdSchema,
  mchid: mchidSchema,
  out_trade_no: merchantNoSchema,
  amount: z.object({ refund: minorUnitsSchema, total: minorUnitsSchema, currency: currencySchema }),
  reason: z.string().optional(),
  status: z.enum(REFUND_STATUSES),
  create_time: utcTimeSchema,
  success_time: utcTimeSchema.optional(),
  version: z.int().min(1),
});
export type Refund = z.input<typeof refundSchema>;

export const refundListSchema = z.object({ refunds: z.array(refundSchema) });

export const orderEventSchema = z.object({
  /** Position in the stripe's journal; a string, as every number that may outgrow 2^53. */
  seq: z.string(),
  event_type: z.string().meta({ description: `${EVENT_TYPES.join(", ")}; more may come.` }),
  version: z.int().min(1),
  time: utcTimeSchema,
  data: z.record(z.string(), z.unknown()),
});
export const historySchema = z.object({ events: z.array(orderEventSchema) });
export type OrderEvent = z.input<typeof orderEventSchema>;
