// What the creates of one round say: pure.
import { quantile } from "../quantile.ts";
import type { Fault } from "./faults.ts";
import type { Create } from "./load.ts";

/** What masks and verdicts need to learn of a fault is not held against the rest of it. */
export const LEARNING_MS = 1_000;

export interface RoundTimes {
  readonly faultMs: number;
  readonly healedMs: number;
}

/** Resident memory at a moment: monotonic milliseconds, MiB. */
export interface MemorySample {
  readonly atMs: number;
  readonly rssMb: number;
}

/** Growth in MiB a minute: the slope of the line with the least squares. */
export function slopePerMinute(samples: readonly MemorySample[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length;
  const [x, y] = [mean(samples.map(({ atMs }) => atMs)), mean(samples.map(({ rssMb }) => rssMb))];
  const spread = samples.reduce((sum, { atMs }) => sum + (atMs - x) ** 2, 0);
  return spread === 0 ? 0 : (60_000 * samples.reduce((sum, s) => sum + (s.atMs - x) * (s.rssMb - y), 0)) / spread;
}

export interface Figures {
  readonly fault: Fault;
  readonly stripe: number;
  readonly creates_before: number;
  readonly creates_during: number;
  readonly failed_creates: number;
  readonly p50_before_ms: number;
  readonly p99_before_ms: number;
  readonly p99_first_second_ms: number;
  readonly p50_during_ms: number;
  readonly p99_during_ms: number;
  /** After the first second. */
  readonly added_p99_ms: number;
  readonly max_during_ms: number;
  /** Of creates that neither landed on the broken stripe nor jumped from it; after the first second. */
  readonly others_p99_before_ms: number;
  readonly others_p99_during_ms: number;
  /**
   * Resident memory of the proxies, MiB: at most during the fault, and its growth a minute before and during it. V8
   * collects late, so it grows and falls either way: what counts is whether the fault adds to it.
   */
  readonly proxy_rss_mb: { readonly max: number; readonly growth_before: number; readonly growth_during: number };
  /** Creates that jumped from the broken stripe, by the stripe that took them, as parts of one. */
  readonly jumped_to: Readonly<Record<string, number>>;
  readonly jumped: number;
}

/** In tenths of a millisecond. */
function tenthsQuantile(values: readonly number[], q: number): number {
  return Math.round(quantile(values, q) * 10) / 10;
}

/** @param creates those of the round alone */
export function figuresOf(
  fault: Fault,
  stripe: number,
  creates: readonly Create[],
  times: RoundTimes,
  memory: { readonly before: readonly MemorySample[]; readonly during: readonly MemorySample[] },
): Figures {
  const tookOf = (some: readonly Create[]): number[] => some.map(({ tookMs }) => tookMs);
  const before = creates.filter(({ beganMs, tookMs }) => beganMs + tookMs < times.faultMs);
  const during = creates.filter(({ beganMs }) => beganMs >= times.faultMs && beganMs < times.healedMs);
  const learning = creates.filter(({ beganMs, tookMs }) => {
    return beganMs + tookMs >= times.faultMs && beganMs < times.faultMs + LEARNING_MS;
  });
  const settled = during.filter(({ beganMs }) => beganMs >= times.faultMs + LEARNING_MS);
  const jumped = during.filter((create) => create.jumpedFrom.includes(stripe) && create.stripe !== stripe);
  const shares: Record<string, number> = {};
  for (const create of jumped) shares[create.stripe] = (shares[create.stripe] ?? 0) + 1 / jumped.length;
  const others = (some: readonly Create[]): readonly Create[] =>
    some.filter((create) => create.stripe !== stripe && !create.jumpedFrom.includes(stripe));
  const p99Before = tenthsQuantile(tookOf(before), 0.99);
  const p99During = tenthsQuantile(tookOf(settled), 0.99);
  return {
    fault,
    stripe,
    creates_before: before.length,
    creates_during: during.length,
    failed_creates: creates.filter(({ status }) => status !== 201).length,
    p50_before_ms: tenthsQuantile(tookOf(before), 0.5),
    p99_before_ms: p99Before,
    p99_first_second_ms: tenthsQuantile(tookOf(learning), 0.99),
    p50_during_ms: tenthsQuantile(tookOf(settled), 0.5),
    p99_during_ms: p99During,
    added_p99_ms: Math.round((p99During - p99Before) * 10) / 10,
    max_during_ms: tenthsQuantile(tookOf(during), 1),
    others_p99_before_ms: tenthsQuantile(tookOf(others(before)), 0.99),
    others_p99_during_ms: tenthsQuantile(tookOf(others(settled)), 0.99),
    proxy_rss_mb: {
      max: Math.round(Math.max(...memory.during.map(({ rssMb: mb }) => mb))),
      growth_before: Math.round(slopePerMinute(memory.before)),
      growth_during: Math.round(slopePerMinute(memory.during)),
    },
    jumped_to: Object.fromEntries(Object.entries(shares).map(([s, share]) => [s, Math.round(share * 1000) / 1000])),
    jumped: jumped.length,
  };
}

/** Added p99 of creates after the first second of a fault, ms. */
const ADDED_P99_MAX_MS = 300;
/** How far the rest's shares of what jumped may be from each other, as a part of all that jumped. */
const UNEVEN_MAX = 0.15;
/** Fewer jumps say nothing of shares. */
const JUMPED_MIN = 100;
/** What a fault may add to the growth of the proxies' memory, MiB a minute: V8 collects late, so it is coarse. */
const GROWTH_MAX = 60;
/** Shorter than this says nothing of growth. */
const GROWTH_SECONDS_MIN = 60;
/** What a slow stripe may add to the p99 of the others' creates. */
const OTHERS_P99_MAX = 1.2;

/** What a round misses; empty when it keeps every bound. @param seconds that the fault lasted */
export function missesOf(round: Figures, seconds: number): string[] {
  const misses: string[] = [];
  const growth = round.proxy_rss_mb.growth_during - Math.max(0, round.proxy_rss_mb.growth_before);
  if (seconds >= GROWTH_SECONDS_MIN && growth > GROWTH_MAX) misses.push(`the proxies grow by ${growth} MiB a minute`);
  if (round.failed_creates > 0) misses.push(`${round.failed_creates} creates failed`);
  if (round.fault === "slow") {
    const ratio = round.others_p99_during_ms / round.others_p99_before_ms;
    if (ratio > OTHERS_P99_MAX) misses.push(`the others' p99 is ${ratio.toFixed(2)} times what it was`);
  } else if (round.added_p99_ms > ADDED_P99_MAX_MS) {
    misses.push(`${round.added_p99_ms} ms were added to the p99`);
  }
  const shares = Object.values(round.jumped_to);
  if (round.jumped >= JUMPED_MIN && Math.max(...shares) - Math.min(...shares) > UNEVEN_MAX) {
    misses.push("the rest's shares are uneven");
  }
  return misses.map((miss) => `${round.fault}: ${miss}`);
}

/** A table for people. */
export function tableOf(rounds: readonly Figures[]): string {
  const columns: readonly (readonly [string, (f: Figures) => string])[] = [
    ["fault", (f) => f.fault],
    ["creates", (f) => String(f.creates_during)],
    ["failed", (f) => String(f.failed_creates)],
    ["p50 before", (f) => `${f.p50_before_ms}`],
    ["p99 before", (f) => `${f.p99_before_ms}`],
    ["p99 1st s", (f) => `${f.p99_first_second_ms}`],
    ["p50 then", (f) => `${f.p50_during_ms}`],
    ["p99 then", (f) => `${f.p99_during_ms}`],
    ["added p99", (f) => `${f.added_p99_ms}`],
    ["others p99", (f) => `${f.others_p99_before_ms} → ${f.others_p99_during_ms}`],
    ["proxy MiB", ({ proxy_rss_mb: m }) => `${m.max} (${m.growth_before} → ${m.growth_during}/min)`],
    ["jumped", (f) => String(f.jumped)],
    [
      "to",
      (f) =>
        Object.entries(f.jumped_to)
          .map(([s, share]) => `${s}: ${(share * 100).toFixed(1)} %`)
          .join("  "),
    ],
  ];
  const cells = [columns.map(([title]) => title), ...rounds.map((f) => columns.map(([, cell]) => cell(f)))];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
