// Creates on a stripe with many orders against the same stripe with few. The servers get a buffer pool as a real machine
// would have for that much data, the same for both, and a redo log that fits it.
import { enlarge, fillOrders, schemaMb } from "../db/fill.ts";
import { median, type Measured, type Plan, round, type Say } from "../figures.ts";
import { Rig } from "../rig.ts";

const FEW = 50_000;
const IN_FLIGHT = 128;
/** Data of a stripe to memory for it: 8 to 1, as a server of 128 GB with a terabyte. */
const DATA_TO_POOL = 8;
const BYTES_PER_ORDER = 1_200;
const POOL_MIN_MB = 64;
const REDO_MB = 512;
const SAY_EVERY = 500_000;
/** It takes a while until a buffer pool holds what is asked, and no longer what was filled. */
const WARM_UPS = 10;

interface Size {
  readonly orders: number;
  readonly data_mb: number;
  readonly creates_per_s: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export async function measureGrowth(plan: Plan, say: Say, many: number): Promise<Measured> {
  const poolMb = Math.max(POOL_MIN_MB, Math.round((many * BYTES_PER_ORDER) / DATA_TO_POOL / 2 ** 20));
  await using rig = await Rig.start({ stripes: 1 });
  for (const { port } of rig.triple) await enlarge(rig.cluster.target("agent", port), poolMb, REDO_MB);
  await fillOrders(rig.own, 1, 0, FEW, () => undefined);
  const few = await measure(rig, plan, say, FEW);
  await fillOrders(rig.own, 1, FEW, many - FEW, (made) => {
    if (made % SAY_EVERY === 0) say(`filled with ${made} orders`);
  });
  const waitedMs = await rig.catchUpMs();
  say(`the replicas had caught up with the fill after ${(waitedMs / 1000).toFixed(1)} s`);
  const full = await measure(rig, plan, say, many);
  return {
    part: {
      ratios: { creates_grown_to_small: round(full.creates_per_s / few.creates_per_s) },
      figures: {},
      details: { buffer_pool_mb: poolMb, redo_mb: REDO_MB, sizes: [few, full] },
    },
    otherCores: rig.otherCoresMax,
  };
}

async function measure(rig: Rig, plan: Plan, say: Say, orders: number): Promise<Size> {
  const order = { kind: "create", connections: IN_FLIGHT } as const;
  await rig.catchUpMs();
  await rig.run({ ...order, ms: WARM_UPS * plan.warmUpSeconds * 1000 });
  const runs: { rate: number; p50Ms: number; p99Ms: number }[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    const { value } = await rig.watched(() => rig.run({ ...order, ms: plan.seconds * 1000 }));
    runs.push({ rate: value.done / value.seconds, p50Ms: value.p50Ms, p99Ms: value.p99Ms });
  }
  const of = (what: (run: (typeof runs)[number]) => number): number => round(median(runs.map(what)), 1);
  const size = {
    orders,
    data_mb: round(await schemaMb(rig.cluster.target("viewer", rig.own.port), rig.own.database ?? ""), 0),
    creates_per_s: of(({ rate }) => rate),
    p50_ms: of(({ p50Ms }) => p50Ms),
    p99_ms: of(({ p99Ms }) => p99Ms),
  };
  say(`${orders} orders (${size.data_mb} MiB): ${size.creates_per_s}/s, p99 ${size.p99_ms} ms`);
  return size;
}
