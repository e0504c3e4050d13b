import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { merchantSlot, PERMYRIAD, routeOf } from "../../core/partitions.ts";
import { assignBuckets, BUCKET_COUNT, bucketOf, rendezvousOrder } from "../../core/placement.ts";
import { type StripeNo, stripeNo } from "../../core/ids.ts";
import { type MerchantRow, type RoutingTable, routingTableSchema, type TrialRow } from "../../core/routing-table.ts";
import { sharesOf } from "../../ops/shares.ts";
import { TableView } from "../../runtime/routing/table-view.ts";

const NO_TRIALS = new Map<string, TrialRow>();
const trial = (partition: string, to: string, permyriad: number, permyriadMax = permyriad): Map<string, TrialRow> =>
  new Map([[partition, { partition, to, permyriad, permyriadMax }]]);
const row = (partition: string, formerPartitions: string[] = []): MerchantRow => {
  return { mchid: "m", partition, createPolicy: "jump", formerPartitions };
};

test("a merchant without a row is in standard, jumps, and was nowhere else", () => {
  assert.deepEqual(routeOf("m", undefined, NO_TRIALS), {
    partition: "standard",
    createPolicy: "jump",
    formerPartitions: [],
  });
});

test("a named merchant is where it was put; where it was before is remembered", () => {
  const route = routeOf("m", { ...row("vip", ["standard"]), createPolicy: "strict" }, NO_TRIALS);
  assert.deepEqual(route, { partition: "vip", createPolicy: "strict", formerPartitions: ["standard"] });
});

test("a trial takes the merchants whose slot is below its share, always the same ones", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9A-Za-z_-]{1,32}$/), fc.nat(PERMYRIAD), fc.nat(PERMYRIAD), (mchid, a, b) => {
      const [now, most] = [Math.min(a, b), Math.max(a, b)];
      const slot = merchantSlot(mchid);
      const { partition, formerPartitions } = routeOf(mchid, undefined, trial("standard", "prerelease", now, most));
      if (slot < now) assert.deepEqual([partition, formerPartitions], ["prerelease", ["standard"]]);
      else if (slot < most) assert.deepEqual([partition, formerPartitions], ["standard", ["prerelease"]]);
      else assert.deepEqual([partition, formerPartitions], ["standard", []]);
    }),
  );
});

test("a share of a hundredth is a hundredth of the merchants, a share of all is all", () => {
  const merchants = Array.from({ length: 100_000 }, (_, i) => `shop-${i}`);
  const placed = (permyriad: number): number => {
    const trials = trial("standard", "prerelease", permyriad);
    return merchants.filter((mchid) => routeOf(mchid, undefined, trials).partition === "prerelease").length;
  };
  // 1,000 expected, standard deviation 31.
  assert.ok(Math.abs(placed(100) - 1_000) < 200, `${placed(100)}`);
  assert.deepEqual([placed(0), placed(PERMYRIAD)], [0, merchants.length]);
});

test("a trial of another partition, or of the one that a merchant left, moves nobody; the latter may hold its numbers", () => {
  const vip = trial("vip", "prerelease", PERMYRIAD);
  assert.equal(routeOf("m", undefined, vip).partition, "standard");
  assert.deepEqual(routeOf("m", row("vip"), vip).formerPartitions, ["vip"]);
  const left = routeOf("m", row("standard", ["vip"]), vip);
  assert.deepEqual([left.partition, left.formerPartitions], ["standard", ["prerelease", "vip"]]);
});

test("a routing table that an older process saved is read", () => {
  const old = {
    version: 1,
    stripes: [],
    partitions: [],
    merchants: [{ mchid: "m", partition: "vip", createPolicy: "jump" }],
  };
  const table: RoutingTable = routingTableSchema.parse(old);
  assert.deepEqual([table.trials, table.merchants[0]?.formerPartitions], [[], []]);
  assert.equal(new TableView(table).merchant("m").partition, "vip");
});

test("20,000 creates are shared by weight within 3 %, also when one merchant makes nine of ten", () => {
  const fleet = [100, 100, 200].map((weight, i) => ({ stripe: stripeNo(i + 1), weight }));
  const map = assignBuckets(Array<StripeNo | null>(BUCKET_COUNT).fill(null), fleet);
  const mixes = [(i: number) => `m${i % 97}`, (i: number) => (i % 10 === 0 ? `m${i}` : "hot")];
  for (const [n, mchidOf] of mixes.entries()) {
    const orders = 20_000;
    const took = new Map<number, number>();
    for (let i = 0; i < orders; i++) {
      const home = map[bucketOf({ mchid: mchidOf(i), outTradeNo: `order-${n}-${i}` })] ?? 0;
      took.set(home, (took.get(home) ?? 0) + 1);
    }
    for (const { stripe, weight } of fleet) {
      const share = (took.get(stripe) ?? 0) / orders;
      assert.ok(Math.abs(share - weight / 400) <= 0.03, `stripe ${stripe}: ${share}`);
    }
  }
});

test("the creates of a failed stripe go to the others by weight, those of one hot merchant too", () => {
  const fleet = [1, 2, 3, 4].map((n) => ({ stripe: stripeNo(n), weight: 100 }));
  const map = assignBuckets(Array<StripeNo | null>(BUCKET_COUNT).fill(null), fleet);
  const took = new Map<number, number>();
  let failed = 0;
  for (let i = 0; i < 40_000; i++) {
    const key = { mchid: "hot", outTradeNo: `order-${i}` };
    if (map[bucketOf(key)] !== 2) continue;
    failed += 1;
    const next = rendezvousOrder(key, fleet).find((stripe) => stripe !== 2) ?? 0;
    took.set(next, (took.get(next) ?? 0) + 1);
  }
  for (const stripe of [1, 3, 4]) {
    assert.ok(Math.abs((took.get(stripe) ?? 0) / failed - 1 / 3) < 0.03, `stripe ${stripe}`);
  }
});

test("shares are shown for each partition, and not made up for a stripe that does not answer", () => {
  const shares = sharesOf([
    { stripe: 1, partition: "standard", buckets: 512, createsLastMinute: 30 },
    { stripe: 2, partition: "standard", buckets: 512, createsLastMinute: 10 },
    { stripe: 3, partition: "vip", buckets: 1024, createsLastMinute: null },
  ]);
  assert.deepEqual(shares.get(1), { of_buckets: 0.5, of_recent_creates: 0.75 });
  assert.deepEqual(shares.get(3), { of_buckets: 1, of_recent_creates: null });
});
