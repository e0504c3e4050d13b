// Creates against raw commits, raw batches and a plain service, on one triple, in turn.
import { addAll, median, type Part, type Plan, round, type Say } from "../figures.ts";
import type { LoadResult } from "../load.ts";
import type { CpuUse, Rig } from "../rig.ts";
import { runSysbench } from "../sysbench.ts";

/** For latency. */
const IN_FLIGHT = 128;
/** For rate and cost: all places that a proxy has for a stripe. The raw commits have the best number of connections too. */
const FULL_LOAD_IN_FLIGHT = 256;
const SINGLE_THREADS = [32, 64, 128] as const;
const BATCH = { threads: 8, rows: 50 } as const;
const FULL_LOAD_SECONDS = 10;

interface Round {
  /** At full load. */
  readonly creates: number;
  readonly load: Omit<LoadResult, "ids">;
  readonly cpu: CpuUse;
  /** With `IN_FLIGHT`. */
  readonly paced: Omit<LoadResult, "ids">;
  readonly rawSingle: number;
  readonly rawBatch: number;
  readonly plain: number;
  readonly plainP99Ms: number;
}

function rate({ done, seconds }: Pick<LoadResult, "done" | "seconds">): number {
  return done / seconds;
}

/** @returns the part, and numbers of orders that were created */
export async function measureCreates(rig: Rig, plan: Plan, say: Say): Promise<{ part: Part; ids: string[] }> {
  const ms = plan.seconds * 1000;
  const plain = await rig.plainUrl();
  await rig.run({ kind: "create", connections: IN_FLIGHT, ms: plan.warmUpSeconds * 1000 });
  // Before others than the system have used the servers: many sessions that write cost memory that they do not give back.
  const ids: string[] = [];
  const catchUp = await afterFullLoad(rig, ids);
  const rssMb = rig.tripleRssMb();
  await rig.load.run({ kind: "create", urls: [plain], ids: [], connections: IN_FLIGHT, ms: plan.warmUpSeconds * 1000 });
  const threads = await bestThreads(rig, plan);
  const rounds: Round[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    // The baselines have filled the buffer pools with their own tables.
    await rig.run({ kind: "create", connections: FULL_LOAD_IN_FLIGHT, ms: plan.warmUpSeconds * 1000 });
    const full = await rig.watched(() => rig.run({ kind: "create", connections: FULL_LOAD_IN_FLIGHT, ms }));
    const some = await rig.watched(() => rig.run({ kind: "create", connections: IN_FLIGHT, ms }));
    const single = await rig.watched(() => runSysbench(rig.raw, { mode: "single", threads, seconds: plan.seconds }));
    const batch = await rig.watched(() => runSysbench(rig.raw, { mode: "batch", ...BATCH, seconds: plan.seconds }));
    const naive = await rig.watched(() =>
      rig.load.run({ kind: "create", urls: [plain], ids: [], connections: IN_FLIGHT, ms }),
    );
    const { ids: made, ...load } = full.value;
    const { ids: madeToo, ...paced } = some.value;
    addAll(ids, made);
    addAll(ids, madeToo);
    rounds.push({
      creates: rate(full.value),
      load,
      cpu: full.cpu,
      paced,
      rawSingle: single.value.transactionsPerSecond,
      rawBatch: batch.value.transactionsPerSecond * BATCH.rows,
      plain: rate(naive.value),
      plainP99Ms: naive.value.p99Ms,
    });
    say(line(rounds.at(-1) as Round, i));
  }
  const idle = await idleLatency(rig, plan, ids);
  return { part: partOf(rounds, threads, { catchUpMs: catchUp, rssMb, rssEndMb: rig.tripleRssMb() }, idle), ids };
}

async function bestThreads(rig: Rig, plan: Plan): Promise<number> {
  let best = { threads: 0, rate: 0 };
  for (const threads of SINGLE_THREADS) {
    const { transactionsPerSecond: rate } = await runSysbench(rig.raw, {
      mode: "single",
      threads,
      seconds: plan.warmUpSeconds,
    });
    if (rate > best.rate) best = { threads, rate };
  }
  return best.threads;
}

async function afterFullLoad(rig: Rig, ids: string[]): Promise<number> {
  const full = await rig.run({ kind: "create", connections: FULL_LOAD_IN_FLIGHT, ms: FULL_LOAD_SECONDS * 1000 });
  addAll(ids, full.ids);
  return rig.catchUpMs();
}

interface Idle {
  readonly createP50Ms: number;
  readonly rawP50Ms: number;
  readonly ratio: number;
}

/** One create at a time against one commit at a time, in turn. */
async function idleLatency(rig: Rig, plan: Plan, ids: string[]): Promise<Idle> {
  const pairs: Idle[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    const raw = await runSysbench(rig.raw, { mode: "single", threads: 1, seconds: plan.seconds });
    const own = await rig.run({ kind: "create", connections: 1, ms: plan.seconds * 1000 });
    addAll(ids, own.ids);
    pairs.push({ createP50Ms: own.p50Ms, rawP50Ms: raw.p50Ms, ratio: own.p50Ms / raw.p50Ms });
  }
  const middle = median(pairs.map(({ ratio }) => ratio));
  return pairs.find(({ ratio }) => ratio === middle) as Idle;
}

/** What an order passes through. The load is the merchant's; agents, checkers and ops work at their own pace. */
const ON_THE_WAY: ReadonlySet<string> = new Set(["proxy", "stripe-service", "haproxy", "source", "replicas"]);

/** Processor microseconds an order, of what it passes through. */
function cpuPerOrder({ cpu, load }: Round): number {
  const own = Object.entries(cpu.byProcess).filter(([name]) => ON_THE_WAY.has(name));
  return own.reduce((sum, [, us]) => sum + us, 0) / load.done;
}

function line(r: Round, i: number): string {
  return (
    `create ${i + 1}: ${r.creates.toFixed(0)}/s, ${cpuPerOrder(r).toFixed(0)} µs/order; ${IN_FLIGHT} in flight ${rate(r.paced).toFixed(0)}/s, p99 ${r.paced.p99Ms.toFixed(1)} ms; ` +
    `${r.load.failed + r.paced.failed} failed; ` +
    `raw single ${r.rawSingle.toFixed(0)}, raw batch ${r.rawBatch.toFixed(0)}, plain ${r.plain.toFixed(0)}; ` +
    `others ${r.cpu.otherCores.toFixed(2)} cores`
  );
}

interface Triple {
  /** After ten seconds of full load. */
  readonly catchUpMs: number;
  readonly rssMb: number;
  /** After everything else that used the servers too. */
  readonly rssEndMb: number;
}

function partOf(rounds: readonly Round[], threads: number, triple: Triple, idle: Idle): Part {
  const of = (what: (r: Round) => number): number => median(rounds.map(what));
  const processes = Object.keys(rounds[0]?.cpu.byProcess ?? {});
  const figures = {
    create_p99_ms: round(of((r) => r.paced.p99Ms)),
    cpu_us_per_order: round(of(cpuPerOrder), 0),
    catch_up_ms: round(triple.catchUpMs, 0),
    triple_rss_mb: round(triple.rssMb, 0),
  };
  return {
    ratios: {
      creates_to_raw_single: round(of((r) => r.creates / r.rawSingle)),
      creates_to_raw_batch: round(
        of((r) => r.creates / r.rawBatch),
        3,
      ),
      creates_to_plain: round(of((r) => rate(r.paced) / r.plain)),
      single_create_p50_to_raw_commit_p50: round(idle.ratio),
      ...figures,
    },
    figures,
    details: {
      full_load_in_flight: FULL_LOAD_IN_FLIGHT,
      creates_per_s: round(
        of((r) => r.creates),
        0,
      ),
      full_load_p50_ms: round(of((r) => r.load.p50Ms)),
      full_load_p99_ms: round(of((r) => r.load.p99Ms)),
      in_flight: IN_FLIGHT,
      creates_per_s_then: round(
        of((r) => rate(r.paced)),
        0,
      ),
      create_p50_ms: round(of((r) => r.paced.p50Ms)),
      create_max_ms: round(of((r) => r.paced.maxMs)),
      raw_single_per_s: round(
        of((r) => r.rawSingle),
        0,
      ),
      raw_single_threads: threads,
      raw_batch_rows_per_s: round(
        of((r) => r.rawBatch),
        0,
      ),
      plain_per_s: round(
        of((r) => r.plain),
        0,
      ),
      triple_rss_at_the_end_mb: round(triple.rssEndMb, 0),
      plain_p99_ms: round(of((r) => r.plainP99Ms)),
      idle_create_p50_ms: round(idle.createP50Ms, 3),
      idle_raw_commit_p50_ms: round(idle.rawP50Ms, 3),
      cpu_us_per_order_by_process: Object.fromEntries(
        processes.map((name) => [
          name,
          round(
            of((r) => (r.cpu.byProcess[name] ?? 0) / r.load.done),
            1,
          ),
        ]),
      ),
      rounds,
    },
  };
}
