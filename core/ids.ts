// Branded primitives: the compiler keeps one kind of id from standing in for another.

declare const brand: unique symbol;
type Branded<T, B extends string> = T & { readonly [brand]: B };

/** 28 decimal digits naming an order (see order-number.ts). */
export type TransactionId = Branded<string, "TransactionId">;
/** 28 decimal digits naming a refund (see order-number.ts). */
export type RefundId = Branded<string, "RefundId">;
/** A stripe's number, 1…9999, never reused. */
export type StripeNo = Branded<number, "StripeNo">;
/** One of 1024 logical shares of merchant order numbers, 0…1023. */
export type Bucket = Branded<number, "Bucket">;

export const STRIPE_NO_MAX = 9999;

/** @throws RangeError unless `n` is an integer in 1…9999 */
export function stripeNo(n: number): StripeNo {
  if (!Number.isInteger(n) || n < 1 || n > STRIPE_NO_MAX) {
    throw new RangeError(`stripe number must be an integer in 1…${STRIPE_NO_MAX}, got ${n}`);
  }
  return n as StripeNo;
}

/**
 * Name of the schema that holds place `place` of a stripe, e.g. `stripe_0007_p1`. The place is in the name so that an
 * old copy of a stripe's data can never meet the present one.
 */
export function schemaName(stripe: number, place: number): string {
  return `stripe_${String(stripeNo(stripe)).padStart(4, "0")}_p${place}`;
}
