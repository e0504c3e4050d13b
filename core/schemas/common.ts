import { z } from "zod";
import { CURRENCIES } from "../currencies.ts";
import { parseRefundId, parseTransactionId } from "../order-number.ts";
import type { RefundId, TransactionId } from "../ids.ts";
import { parseInstant } from "../time.ts";

export const MCHID = /^[0-9A-Za-z_-]{1,32}$/;
export const MERCHANT_NO = /^[0-9A-Za-z_*|@-]{1,64}$/;
export const OPENID = /^[0-9A-Za-z_-]{1,128}$/;

export const mchidSchema = z.string().regex(MCHID, "1…32 of 0-9 A-Z a-z _ -");
/** `out_trade_no`, `out_refund_no`, `out_pay_no`: compared byte for byte. */
export const merchantNoSchema = z.string().regex(MERCHANT_NO, "1…64 of 0-9 A-Z a-z _ * | @ -");

function validNumber(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

export const transactionIdSchema = z
  .string()
  .refine(validNumber(parseTransactionId), "not an order number (28 digits with check digits)")
  .transform((id) => id as TransactionId)
  .meta({ pattern: "^10[0-9]{26}$", description: "Order number, the last two digits are check digits." });

export const refundIdSchema = z
  .string()
  .refine(validNumber(parseRefundId), "not a refund number (28 digits with check digits)")
  .transform((id) => id as RefundId)
  .meta({ pattern: "^50[0-9]{26}$", description: "Refund number, the last two digits are check digits." });

/** Integer minor units, 1 … 2^53−1. */
export const minorUnitsSchema = z
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER)
  .meta({ description: "Minor units, as a plain integer token." });
export const currencySchema = z
  .string()
  .refine((code) => CURRENCIES.has(code), "not an ISO 4217 currency code")
  .meta({ pattern: "^[A-Z]{3}$", description: "ISO 4217 code.", example: "CNY" });

/** Text of at most `max` code points, returned byte for byte. */
export function textSchema(min: number, max: number): z.ZodString {
  return z
    .string()
    .refine((s) => s.length <= 2 * max && codePoints(s) <= max, `at most ${max} characters`)
    .refine((s) => s.length >= min, "must not be empty")
    .meta({ minLength: min, maxLength: max }) as z.ZodString;
}

function codePoints(text: string): number {
  let n = 0;
  for (const _ of text) n += 1;
  return n;
}

/** RFC 3339 with an offset; becomes UTC cut to milliseconds. */
export const instantSchema = z
  .string()
  .transform((text, ctx) => {
    const instant = parseInstant(text);
    if (instant !== null) return instant;
    ctx.addIssue({
      code: "custom",
      message: "not an RFC 3339 date-time with an offset, or no time that exists in the years 1…9998",
    });
    return z.NEVER;
  })
  .meta({ format: "date-time", description: "RFC 3339 with an offset.", example: "2026-11-29T23:30:00+08:00" });

/** A time in an answer: UTC with three decimals. */
export const utcTimeSchema = z.string().meta({ format: "date-time", example: "2026-11-29T15:30:00.000Z" });

const PAID_FROM = "2000-01-01T00:00:00.000Z";
const PAID_BEFORE = "2100-01-01T00:00:00.000Z";

/** When a channel says that money moved: what is far off any such day is a mistake of the caller. */
export const successTimeSchema = instantSchema.refine(
  (instant) => instant >= PAID_FROM && instant < PAID_BEFORE,
  "must lie in the years 2000…2099 (UTC)",
);

const URL_LENGTH_MAX = 255;

export const httpUrlSchema = z
  .string()
  .refine((text) => {
    if (text.length > URL_LENGTH_MAX || !/^https?:\/\//.test(text)) return false;
    const url = URL.parse(text);
    return url !== null && url.username === "" && url.password === "" && url.hash === "";
  }, `an http(s) URL of at most ${URL_LENGTH_MAX} characters without user, password or fragment`)
  .meta({ format: "uri", maxLength: URL_LENGTH_MAX });

/** Who pays. Personal data: never logged, never in metrics or errors. */
export const payerSchema = z.strictObject({
  openid: z.string().regex(OPENID, "1…128 of 0-9 A-Z a-z _ -"),
});
