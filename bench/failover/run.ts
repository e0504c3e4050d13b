import { writeFile } from "node:fs/promises";
import { startBenchCluster } from "../cluster.ts";
import { monotonicMs, wallNowIso, wallNowMs } from "../../runtime/clock.ts";
import { quantile } from "../quantile.ts";
import { FailoverLoad } from "./load.ts";
import { type Mode, MODES, playRound, type Round } from "./rounds.ts";

export interface FailoverBenchOptions {
  readonly rounds: number;
  readonly modes: readonly Mode[];
  /** Clients without pauses. */
  readonly full: boolean;
  readonly json: string | undefined;
}

/** Bounds on what clients see, milliseconds: the promise that the bench holds the system to. */
const BOUNDS: Readonly<Record<Mode, { readonly p50: number; readonly p99: number }>> = {
  kill: { p50: 1_000, p99: 2_500 },
  stop: { p50: 4_000, p99: 4_000 },
  switchover: { p50: 1_000, p99: 1_000 },
};
const CREATORS = 6;
const PAYERS = 4;

/** In whole milliseconds. */
function wholeQuantile(values: readonly number[], q: number): number {
  return Math.round(quantile(values, q));
}

function summarise(mode: Mode, rounds: readonly Round[]) {
  const mine = rounds.filter((r) => r.mode === mode);
  const outage = mine.map((r) => r.outageMs);
  const p50 = wholeQuantile(outage, 0.5);
  const p99 = wholeQuantile(outage, 0.99);
  return {
    mode,
    rounds: mine.length,
    outage_p50_ms: p50,
    outage_p99_ms: p99,
    outage_max_ms: wholeQuantile(outage, 1),
    whole_again_p50_ms: wholeQuantile(
      mine.map((r) => r.wholeMs),
      0.5,
    ),
    whole_again_max_ms: wholeQuantile(
      mine.map((r) => r.wholeMs),
      1,
    ),
    uncertain_answers: mine.reduce((sum, r) => sum + r.uncertain, 0),
    within_bounds: p50 <= BOUNDS[mode].p50 && p99 <= BOUNDS[mode].p99,
  };
}

/** Runs the failover bench on an ephemeral three-stripe cluster. @returns the exit code */
export async function benchFailover(options: FailoverBenchOptions): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  await using cluster = await startBenchCluster({ tell: say });
  const urls = cluster.info().proxies.map((p) => p.url);
  const load = new FailoverLoad(urls, wallNowMs().toString(36), CREATORS, PAYERS, options.full);
  const beganMs = monotonicMs();
  const rounds: Round[] = [];
  for (const mode of options.modes) {
    for (let i = 0; i < options.rounds; i++) {
      const round = await playRound(cluster, load, (i % 3) + 1, mode);
      rounds.push(round);
      const { outageMs, wholeMs, stripe, uncertain } = round;
      say(
        `${mode} ${i + 1}: stripe ${stripe} outage ${outageMs.toFixed(0)} ms, whole after ${wholeMs.toFixed(0)} ms, ${uncertain} uncertain answers`,
      );
    }
  }
  await load.stop();
  const seconds = (monotonicMs() - beganMs) / 1_000;
  const lost = await load.lost();
  const result = {
    time: wallNowIso(),
    modes: options.modes.map((mode) => summarise(mode, rounds)),
    full_load: options.full,
    creates: load.creates,
    creates_per_second: Math.round(load.creates / seconds),
    failed_creates: load.failedCreates,
    acknowledged_pays: load.paid.length,
    lost_pays: lost,
    rounds,
  };
  for (const line of result.modes) say(JSON.stringify(line));
  say(`creates ${load.creates}, failed ${load.failedCreates.length}; pays ${load.paid.length}, lost ${lost.length}`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(result, null, 2)}\n`);
  const good = lost.length === 0 && load.failedCreates.length === 0 && result.modes.every((m) => m.within_bounds);
  return good ? 0 : 1;
}

/** Parses `--mode`: one of the modes, or `all`. */
export function modesOf(text: string): readonly Mode[] {
  return text === "all" ? MODES : MODES.filter((mode) => mode === text);
}
