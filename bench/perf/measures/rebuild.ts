// Latency of creates while a replica that lost its disk is rebuilt by CLONE, against the same load before. The load is
// the same number of callers, far below what the machine can do.
import { rm } from "node:fs/promises";
import { fillOrders } from "../db/fill.ts";
import { type Measured, type Plan, round, type Say } from "../figures.ts";
import type { LoadResult } from "../load.ts";
import { Rig } from "../rig.ts";
import { quantile } from "../../quantile.ts";
import { monotonicMs } from "../../../runtime/clock.ts";

const IN_FLIGHT = 16;
const ORDERS = 200_000;
const WINDOW_MS = 1_000;
const REBUILD_MAX_MS = 180_000;

export async function measureRebuild(plan: Plan, say: Say): Promise<Measured> {
  await using rig = await Rig.start({ stripes: 1 });
  await fillOrders(rig.own, 1, 0, ORDERS, () => undefined);
  await rig.catchUpMs();
  const order = { kind: "create", connections: IN_FLIGHT, withLatencies: true } as const;
  await rig.run({ ...order, ms: plan.warmUpSeconds * 1000 });
  const before = summary([await watched(rig, { ...order, ms: 2 * plan.seconds * 1000 })]);
  const replica = rig.triple.find(({ role }) => role === "replica");
  if (replica === undefined || replica.pid === null) throw new Error("stripe 1 has no replica");
  const lostPid = replica.pid;
  const startMs = monotonicMs();
  await rm(replica.dataDir, { recursive: true, force: true });
  process.kill(lostPid, "SIGKILL");
  const isBack = (): boolean => {
    const now = rig.triple.find(({ name }) => name === replica.name);
    return now?.role === "replica" && now.pid !== null && now.pid !== lostPid;
  };
  const windows: LoadResult[] = [];
  while (!isBack()) {
    if (monotonicMs() - startMs > REBUILD_MAX_MS) throw new Error("the replica was not rebuilt");
    windows.push(await watched(rig, { ...order, ms: WINDOW_MS }));
  }
  const seconds = (monotonicMs() - startMs) / 1000;
  await rig.catchUpMs();
  const during = summary(windows);
  say(`rebuilt in ${seconds.toFixed(1)} s; p99 ${before.p99_ms} ms before, ${during.p99_ms} ms meanwhile`);
  return {
    part: {
      ratios: { create_p99_rebuild_to_before: round(during.p99_ms / before.p99_ms) },
      figures: {},
      details: { orders: ORDERS, in_flight: IN_FLIGHT, rebuild_s: round(seconds, 1), before, during },
    },
    otherCores: rig.otherCoresMax,
  };
}

async function watched(rig: Rig, order: Parameters<Rig["run"]>[0]): Promise<LoadResult> {
  return (await rig.watched(() => rig.run(order))).value;
}

function summary(runs: readonly LoadResult[]) {
  const latencies = runs.flatMap((run) => [...(run.latencies ?? [])]);
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
  return {
    per_s: round(latencies.length / seconds, 0),
    p50_ms: round(quantile(latencies, 0.5)),
    p99_ms: round(quantile(latencies, 0.99)),
    max_ms: round(quantile(latencies, 1)),
    failed: runs.reduce((sum, run) => sum + run.failed, 0),
  };
}
