import { writeFile } from "node:fs/promises";
import type { Cluster } from "../../local-cluster/cluster.ts";
import { startBenchCluster } from "../cluster.ts";
import { monotonicMs, sleep, wallNowIso, wallNowMs } from "../../runtime/clock.ts";
import { breakStripe, type Fault } from "./faults.ts";
import { rssMb } from "../perf/processes.ts";
import { type Figures, figuresOf, type MemorySample, missesOf, tableOf } from "./figures.ts";
import { CreateLoad } from "./load.ts";

export interface JumpBenchOptions {
  readonly faults: readonly Fault[];
  readonly workers: number;
  readonly seconds: number;
  readonly json: string | undefined;
}

const VICTIM = 1;
const WARM_UP_MS = 3_000;
const HOME_AGAIN_MAX_MS = 120_000;
const HOME_AGAIN_CREATES = 20;
const POLL_MS = 100;
const MEMORY_EVERY_MS = 1_000;

/** Runs the jump bench on an ephemeral three-stripe cluster. @returns the exit code: 1 when a bound is missed */
export async function benchJump(options: JumpBenchOptions): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  await using cluster = await startBenchCluster({ stripes: 3, services: 2, proxies: 1, tell: say });
  const urls = cluster.info().proxies.map((p) => p.url);
  const load = new CreateLoad(urls, wallNowMs().toString(36), options.workers);
  await sleep(WARM_UP_MS);
  const rounds: Figures[] = [];
  for (const fault of options.faults) {
    say(`stripe ${VICTIM}: ${fault}`);
    rounds.push(await playRound(cluster, load, fault, options.seconds * 1_000));
  }
  await load.stop();
  const result = {
    time: wallNowIso(),
    workers: options.workers,
    seconds: options.seconds,
    creates: load.creates.length,
    failures: load.failures,
    rounds,
  };
  say(`\n${tableOf(rounds)}\n\n${load.creates.length} creates, ${load.failures.length} failed; times in milliseconds`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(result, null, 2)}\n`);
  const misses = rounds.flatMap((round) => missesOf(round, options.seconds));
  for (const miss of misses) say(`MISSED ${miss}`);
  return misses.length === 0 && load.failures.length === 0 ? 0 : 1;
}

async function playRound(cluster: Cluster, load: CreateLoad, fault: Fault, lengthMs: number): Promise<Figures> {
  const first = load.creates.length;
  const before = await watchMemory(cluster, lengthMs);
  const faultMs = monotonicMs();
  const heal = await breakStripe(cluster, VICTIM, fault);
  const during = await watchMemory(cluster, lengthMs);
  const healedMs = monotonicMs();
  await heal();
  await homeAgain(load);
  return figuresOf(fault, VICTIM, load.creates.slice(first), { faultMs, healedMs }, { before, during });
}

/** The proxies' resident memory, once a second for that long. */
async function watchMemory(cluster: Cluster, lengthMs: number): Promise<MemorySample[]> {
  const samples: MemorySample[] = [];
  const end = monotonicMs() + lengthMs;
  while (monotonicMs() < end) {
    const pids = cluster.info().proxies.flatMap(({ pid }) => pid ?? []);
    samples.push({ atMs: monotonicMs(), rssMb: pids.reduce((sum, pid) => sum + rssMb(pid), 0) });
    await sleep(Math.min(MEMORY_EVERY_MS, end - monotonicMs()));
  }
  return samples;
}

/** Waits until the stripe takes its creates again, and nobody jumps from it. */
async function homeAgain(load: CreateLoad): Promise<void> {
  const limit = monotonicMs() + HOME_AGAIN_MAX_MS;
  let from = load.creates.length;
  for (;;) {
    await sleep(POLL_MS);
    const since = load.creates.slice(from);
    const jumped = since.findLastIndex((create) => create.jumpedFrom.includes(VICTIM));
    if (jumped >= 0) from += jumped + 1;
    else if (since.filter(({ stripe }) => stripe === VICTIM).length >= HOME_AGAIN_CREATES) return;
    if (monotonicMs() > limit) throw new Error(`stripe ${VICTIM} did not take its creates again`);
  }
}
