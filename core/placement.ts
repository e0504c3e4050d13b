// Where an order goes: bucket → home stripe, and the order in which a key's create tries the other stripes.
import { createHash, hash } from "node:crypto";
import { type Bucket, type StripeNo, stripeNo } from "./ids.ts";

export const BUCKET_COUNT = 1024;
export const STRIPE_WEIGHT_MAX = 1000;

/** A merchant's order number: the key that must name one order for ever. */
export interface OrderKey {
  readonly mchid: string;
  readonly outTradeNo: string;
}

function keyText({ mchid, outTradeNo }: OrderKey): string {
  return `${mchid}\0${outTradeNo}`;
}

/** The first 10 bits of SHA-256(mchid ‖ 0 ‖ out_trade_no), 0…1023. */
export function bucketOf(key: OrderKey): Bucket {
  const digest = hash("sha256", keyText(key), "hex"); // as text: a Buffer for each create costs more than its digits
  return (Number.parseInt(digest.slice(0, 4), 16) >>> 6) as Bucket;
}

export interface WeightedStripe {
  readonly stripe: StripeNo;
  /** 0…1000; a stripe of weight 0 gets nothing. */
  readonly weight: number;
}

/**
 * How many of the 1024 buckets each stripe should be home to: proportional to weight, rounded by largest remainder;
 * where remainders tie, whoever already holds the extra bucket keeps it, so that nothing moves without need.
 * @returns counts by stripe; all zero-weight stripes (or all stripes, when no weight is positive) get 0
 */
export function bucketQuotas(
  stripes: readonly WeightedStripe[],
  held: ReadonlyMap<number, number> = new Map(),
): Map<StripeNo, number> {
  const total = stripes.reduce((sum, s) => sum + s.weight, 0);
  const quotas = new Map<StripeNo, number>(stripes.map((s) => [s.stripe, 0]));
  if (total === 0) return quotas;
  const shares = stripes
    .filter((s) => s.weight > 0)
    .map((s) => {
      const exact = BUCKET_COUNT * s.weight;
      const floor = Math.floor(exact / total);
      return { stripe: s.stripe, floor, remainder: exact - floor * total, held: held.get(s.stripe) ?? 0 };
    });
  let left = BUCKET_COUNT - shares.reduce((sum, s) => sum + s.floor, 0);
  const keeps = (s: (typeof shares)[number]): number => (s.held > s.floor ? 1 : 0);
  shares.sort((a, b) => b.remainder - a.remainder || keeps(b) - keeps(a) || a.stripe - b.stripe);
  for (const share of shares) {
    quotas.set(share.stripe, share.floor + (left > 0 ? 1 : 0));
    left -= 1;
  }
  return quotas;
}

/** Home stripe of each bucket, by index; null where none is set yet. */
export type BucketMap = readonly (StripeNo | null)[];

/**
 * The bucket map for the given weights that differs from `current` in the smallest possible number of buckets.
 * @param current 1024 entries; entries of stripes that are not in `stripes` are given to others
 * @throws RangeError when `current` has another length
 */
export function assignBuckets(current: BucketMap, stripes: readonly WeightedStripe[]): (StripeNo | null)[] {
  if (current.length !== BUCKET_COUNT) throw new RangeError(`a bucket map has ${BUCKET_COUNT} entries`);
  const held = new Map<number, number>();
  for (const s of current) if (s !== null) held.set(s, (held.get(s) ?? 0) + 1);
  const room = bucketQuotas(stripes, held);
  const next: (StripeNo | null)[] = current.map((home) => {
    if (home === null) return null;
    const free = room.get(home) ?? 0;
    if (free === 0) return null;
    room.set(home, free - 1);
    return home;
  });
  const takers = [...room].filter(([, free]) => free > 0).sort(([a], [b]) => a - b);
  spreadFreeBuckets(next, takers);
  return next;
}

/** Gives each free bucket to the takers in turn, so that neighbours do not all go to one stripe. */
function spreadFreeBuckets(map: (StripeNo | null)[], takers: [StripeNo, number][]): void {
  let turn = 0;
  for (let bucket = 0; bucket < map.length && takers.length > 0; bucket++) {
    if (map[bucket] !== null) continue;
    const taker = takers[turn % takers.length];
    if (taker === undefined) return;
    map[bucket] = taker[0];
    taker[1] -= 1;
    if (taker[1] === 0) takers.splice(turn % takers.length, 1);
    else turn += 1;
  }
}

/**
 * The order in which a key's create tries stripes: weighted rendezvous hashing. A function of the key alone, so the
 * creates of a failed home spread over all others by weight, and a retry meets the same stripes in the same order.
 * Source of the weighting: score = −weight ÷ ln(u), u uniform in (0,1) from the hash of key and stripe.
 * @returns the stripes of positive weight, most preferred first
 */
export function rendezvousOrder(key: OrderKey, stripes: readonly WeightedStripe[]): StripeNo[] {
  const digest = hash("sha256", keyText(key), "buffer");
  return stripes
    .filter((s) => s.weight > 0)
    .map((s) => ({ stripe: s.stripe, score: -s.weight / Math.log(uniform(digest, s.stripe)) }))
    .sort((a, b) => b.score - a.score || a.stripe - b.stripe)
    .map((s) => stripeNo(s.stripe));
}

function uniform(digest: Buffer, stripe: number): number {
  const hash = createHash("sha256").update(digest).update(String(stripe)).digest();
  const high = hash.readUInt32BE(0);
  const low = hash.readUInt32BE(4) >>> 11;
  return (high * 2 ** 21 + low + 0.5) / 2 ** 53;
}
