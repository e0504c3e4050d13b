import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type StripeNo, stripeNo } from "../../core/ids.ts";
import {
  assignBuckets,
  BUCKET_COUNT,
  bucketOf,
  bucketQuotas,
  type BucketMap,
  type OrderKey,
  rendezvousOrder,
  type WeightedStripe,
} from "../../core/placement.ts";

const EMPTY: BucketMap = Array.from({ length: BUCKET_COUNT }, () => null);
const weights = fc.integer({ min: 0, max: 1000 });
const fleets = fc
  .uniqueArray(fc.record({ stripe: fc.integer({ min: 1, max: 9999 }).map(stripeNo), weight: weights }), {
    minLength: 1,
    maxLength: 24,
    selector: (s) => s.stripe,
  })
  .filter((fleet) => fleet.some((s) => s.weight > 0));
const keys = fc.record({
  mchid: fc.stringMatching(/^[0-9A-Za-z_-]{1,32}$/),
  outTradeNo: fc.stringMatching(/^[0-9A-Za-z_*|@-]{1,64}$/),
});

function counts(map: readonly (StripeNo | null)[]): Map<number, number> {
  const byStripe = new Map<number, number>();
  for (const s of map) byStripe.set(s ?? 0, (byStripe.get(s ?? 0) ?? 0) + 1);
  return byStripe;
}

function moved(before: readonly (StripeNo | null)[], after: readonly (StripeNo | null)[]): number {
  return before.filter((home, bucket) => home !== after[bucket]).length;
}

/** The smallest number of buckets that must change hands to reach the shares of `after`. */
function leastMoves(before: readonly (StripeNo | null)[], after: readonly (StripeNo | null)[]): number {
  const held = counts(before);
  let moves = 0;
  for (const [stripe, n] of counts(after)) moves += Math.max(0, n - (held.get(stripe) ?? 0));
  return moves;
}

function manyKeys(n: number): OrderKey[] {
  return Array.from({ length: n }, (_, i) => ({ mchid: `m${i % 37}`, outTradeNo: `order-${i}` }));
}

test("the bucket of a number is the first ten bits of SHA-256 over mchid, a zero byte and out_trade_no", () => {
  // As an independent SHA-256 says.
  assert.equal(bucketOf({ mchid: "1900000109", outTradeNo: "a" }), 671);
  assert.equal(bucketOf({ mchid: "m1", outTradeNo: "order-1" }), 506);
  assert.equal(bucketOf({ mchid: "shop_7", outTradeNo: "aB1" }), 776);
  assert.equal(bucketOf({ mchid: "shop_7", outTradeNo: "Ab1" }), 561);
});

test("every bucket number is in range, and the zero byte keeps neighbours apart", () => {
  fc.assert(
    fc.property(keys, (key) => {
      const bucket = bucketOf(key);
      assert.ok(Number.isInteger(bucket) && bucket >= 0 && bucket < BUCKET_COUNT);
    }),
  );
  assert.notEqual(bucketOf({ mchid: "ab", outTradeNo: "c" }), bucketOf({ mchid: "a", outTradeNo: "bc" }));
});

test("keys fall evenly into the buckets", () => {
  const perBucket = Array.from({ length: BUCKET_COUNT }, () => 0);
  const all = manyKeys(102_400);
  for (const key of all) perBucket[bucketOf(key)] = (perBucket[bucketOf(key)] ?? 0) + 1;
  // 100 expected, standard deviation 10: six of them are never exceeded by a sound hash.
  assert.ok(Math.min(...perBucket) > 40 && Math.max(...perBucket) < 160);
});

test("all 1024 buckets are given out, each stripe's count within one of its exact share by weight", () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const quotas = bucketQuotas(fleet);
      const total = fleet.reduce((sum, s) => sum + s.weight, 0);
      assert.equal(
        [...quotas.values()].reduce((a, b) => a + b, 0),
        BUCKET_COUNT,
      );
      for (const s of fleet) {
        assert.ok(Math.abs((quotas.get(s.stripe) ?? 0) - (BUCKET_COUNT * s.weight) / total) < 1, `stripe ${s.stripe}`);
      }
      const map = assignBuckets(EMPTY, fleet);
      assert.deepEqual(counts(map), new Map([...quotas].filter(([, n]) => n > 0)));
    }),
  );
});

test("orders are shared by weight within 3 %", () => {
  const fleet = [
    { stripe: stripeNo(1), weight: 100 },
    { stripe: stripeNo(2), weight: 100 },
    { stripe: stripeNo(3), weight: 200 },
    { stripe: stripeNo(4), weight: 0 },
  ];
  const map = assignBuckets(EMPTY, fleet);
  const all = manyKeys(100_000);
  const placed = counts(all.map((key) => map[bucketOf(key)] ?? null));
  assert.equal(placed.get(4), undefined);
  for (const { stripe, weight } of fleet) {
    const share = (placed.get(stripe) ?? 0) / all.length;
    assert.ok(Math.abs(share - weight / 400) <= 0.03 * Math.max(weight / 400, 1e-9), `stripe ${stripe}: ${share}`);
  }
});

test("adding a stripe moves only the buckets that it gets", () => {
  fc.assert(
    fc.property(fleets, fc.integer({ min: 1, max: 1000 }), (fleet, weight) => {
      const newcomer = stripeNo([1, 2, 3].map((n) => n * 3333).find((n) => !fleet.some((s) => s.stripe === n)) ?? 1);
      if (fleet.some((s) => s.stripe === newcomer)) return;
      const before = assignBuckets(EMPTY, fleet);
      const after = assignBuckets(before, [...fleet, { stripe: newcomer, weight }]);
      assert.equal(moved(before, after), leastMoves(before, after));
      const strays = after.filter((home, bucket) => home !== before[bucket] && home !== newcomer).length;
      // Rounding of the others' shares may shift single buckets; never more than one a stripe.
      assert.ok(strays <= fleet.length, `${strays} buckets moved between old stripes`);
    }),
  );
});

test("a change of weights, or a stripe that leaves, moves the smallest possible number of buckets", () => {
  fc.assert(
    fc.property(fleets, fc.array(weights, { minLength: 24, maxLength: 24 }), fc.nat(), (fleet, next, gone) => {
      const before = assignBuckets(EMPTY, fleet);
      const changed: WeightedStripe[] = fleet.map((s, i) => ({ stripe: s.stripe, weight: next[i] ?? 0 }));
      const left = changed.length > 1 ? changed.filter((_, i) => i !== gone % changed.length) : changed;
      for (const fleetNow of [changed, left]) {
        if (!fleetNow.some((s) => s.weight > 0)) continue;
        const after = assignBuckets(before, fleetNow);
        assert.equal(after.includes(null), false);
        assert.equal(moved(before, after), leastMoves(before, after));
      }
    }),
  );
});

test("the same weights move nothing", () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const map = assignBuckets(EMPTY, fleet);
      assert.deepEqual(assignBuckets(map, fleet), map);
    }),
  );
});

test("with no positive weight nothing is given out, and a map of another length is refused", () => {
  assert.equal(
    assignBuckets(EMPTY, [{ stripe: stripeNo(1), weight: 0 }]).every((home) => home === null),
    true,
  );
  assert.throws(() => assignBuckets([], [{ stripe: stripeNo(1), weight: 1 }]), RangeError);
});

test("a key's order is a permutation of the stripes with weight, whatever order they are given in", () => {
  fc.assert(
    fc.property(keys, fleets, (key, fleet) => {
      const order = rendezvousOrder(key, fleet);
      const weighted = fleet.filter((s) => s.weight > 0).map((s) => s.stripe);
      assert.deepEqual(new Set(order), new Set(weighted));
      assert.equal(order.length, weighted.length);
      assert.deepEqual(rendezvousOrder(key, [...fleet].reverse()), order);
    }),
  );
});

test("taking a stripe away does not change the order of the others", () => {
  fc.assert(
    fc.property(keys, fleets, fc.nat(), (key, fleet, n) => {
      const gone = fleet[n % fleet.length]?.stripe;
      const rest = fleet.filter((s) => s.stripe !== gone);
      const order = rendezvousOrder(key, fleet).filter((s) => s !== gone);
      assert.deepEqual(rendezvousOrder(key, rest), order);
    }),
  );
});

test("the creates of a failed home spread over all others by weight, within 3 % of all", () => {
  const others = [1, 2, 3, 4].map((n) => ({ stripe: stripeNo(n), weight: n * 100 }));
  const all = manyKeys(40_000);
  const firsts = counts(all.map((key) => rendezvousOrder(key, others)[0] ?? null));
  for (const { stripe, weight } of others) {
    const share = (firsts.get(stripe) ?? 0) / all.length;
    assert.ok(Math.abs(share - weight / 1000) < 0.03, `stripe ${stripe}: ${share}`);
  }
});
