// Payments against the same written as five statements, on one triple, in turn.
import { makeUnpaid } from "../db/triple.ts";
import { addAll, median, type Part, type Plan, round, type Say } from "../figures.ts";
import type { Rig } from "../rig.ts";
import { runSysbench } from "../sysbench.ts";

const IN_FLIGHT = 128;
const THREADS = [32, 64, 128] as const;
/** More than either side can pay in one round. */
const PER_SECOND_MAX = 15_000;
const FIVE_TRIP_PER_SECOND_MAX = 4_000;

interface Round {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly cpuUs: number;
  readonly raw: number;
}

/** @param stock orders of the system that are not paid yet; more are made when they do not suffice */
export async function measurePays(rig: Rig, plan: Plan, say: Say, stock: string[]): Promise<Part> {
  const ms = plan.seconds * 1000;
  const need = plan.seconds * PER_SECOND_MAX * plan.rounds + plan.warmUpSeconds * PER_SECOND_MAX;
  let first = 0;
  const fiveTrip = async (threads: number, seconds: number): Promise<number> => {
    const count = Math.ceil(seconds * FIVE_TRIP_PER_SECOND_MAX);
    await makeUnpaid(rig.raw, first, count);
    const { transactionsPerSecond } = await runSysbench(rig.raw, { mode: "pay", threads, seconds, first });
    first += count;
    return transactionsPerSecond;
  };
  const own = async (): Promise<Omit<Round, "raw">> => {
    const ids = stock.splice(0, plan.seconds * PER_SECOND_MAX);
    const { value, cpu } = await rig.watched(() => rig.run({ kind: "pay", connections: IN_FLIGHT, ms, ids }));
    addAll(stock, ids.slice(value.done + value.failed + IN_FLIGHT));
    const { load: _, ...system } = cpu.byProcess;
    const cpuUs = Object.values(system).reduce((sum, us) => sum + us, 0) / value.done;
    return { rate: value.done / value.seconds, p50Ms: value.p50Ms, p99Ms: value.p99Ms, maxMs: value.maxMs, cpuUs };
  };
  await fillStock(rig, stock, Math.min(need, 2 * plan.seconds * PER_SECOND_MAX));
  const warm = stock.splice(0, plan.warmUpSeconds * 2_000);
  await rig.run({ kind: "pay", connections: IN_FLIGHT, ms: plan.warmUpSeconds * 1000, ids: warm });
  let best = { threads: 0, rate: 0 };
  for (const threads of THREADS) {
    const rate = await fiveTrip(threads, plan.warmUpSeconds);
    if (rate > best.rate) best = { threads, rate };
  }
  const rounds: Round[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    const pays = await own();
    const raw = await fiveTrip(best.threads, plan.seconds);
    rounds.push({ ...pays, raw });
    say(`pay ${i + 1}: ${pays.rate.toFixed(0)}/s, p99 ${pays.p99Ms.toFixed(1)} ms; five-trip ${raw.toFixed(0)}/s`);
    if (i + 1 < plan.rounds) await fillStock(rig, stock, plan.seconds * PER_SECOND_MAX);
  }
  const of = (what: (r: Round) => number): number => median(rounds.map(what));
  return {
    ratios: { pays_to_five_trip: round(of((r) => r.rate / r.raw)) },
    figures: {},
    details: {
      pays_per_s: round(
        of((r) => r.rate),
        0,
      ),
      pay_p50_ms: round(of((r) => r.p50Ms)),
      pay_p99_ms: round(of((r) => r.p99Ms)),
      pay_max_ms: round(of((r) => r.maxMs)),
      cpu_us_per_pay: round(
        of((r) => r.cpuUs),
        0,
      ),
      five_trip_per_s: round(
        of((r) => r.raw),
        0,
      ),
      five_trip_threads: best.threads,
      rounds,
    },
  };
}

/** Creates orders until there are enough, or until a while has passed: a slow machine pays slowly too. */
async function fillStock(rig: Rig, stock: string[], wanted: number): Promise<void> {
  const TRIES_MAX = 4;
  for (let tries = 0; stock.length < wanted && tries < TRIES_MAX; tries++) {
    const { ids } = await rig.run({ kind: "create", connections: IN_FLIGHT, ms: 3_000 });
    addAll(stock, ids);
  }
}
