// What one checker says of one stripe, from its probes: pure. A symptom is what the probes of the last seconds look like,
// against the stripe's own past and against the other stripes now; a verdict follows the symptoms with hysteresis, so
// that a single slow or lost probe changes nothing and a stripe that flickers is not called well too soon.
import { isWorse, type Verdict } from "../../core/verdicts.ts";

export const VERDICT_RULES = {
  /** Probes that a symptom looks at. */
  windowProbes: 10,
  /** Fewer than this are no ground for an opinion. */
  probesMin: 3,
  /** A stripe that has never answered is being started, for so many probes; then it is unhealthy. */
  firstProbesMax: 30,
  /** The latest ones, by which the latency now is measured. */
  recentProbes: 5,
  /** Without a probe that ended since then there is no opinion. */
  staleMs: 5_000,
  /** Failures one after another that make it unhealthy. */
  failuresInARow: 2,
  /** Success rates below which it is unhealthy, degraded. */
  unhealthyBelow: 0.5,
  degradedBelow: 0.9,
  /** Slow: at least this long, and this many times both its own past and the others. */
  degradedSlow: { ms: 100, timesOwnPast: 3, timesOthers: 2 },
  unhealthySlow: { ms: 500, timesOwnPast: 10, timesOthers: 5 },
  /** Symptoms in a row that make a verdict worse, better. */
  worseAfter: 2,
  betterAfter: 5,
  /** How fast the own past follows faster probes, and slower ones. */
  pastDown: 0.1,
  pastUp: 0.02,
  /**
   * By what part of itself a probe raises it at most, well and ill: however slow the probes are, what was usual is not
   * forgotten while a verdict is found, nor, while it is ill, for more than half an hour.
   */
  pastGrowth: 0.01,
  pastGrowthWhileIll: 0.0005,
} as const;

export interface Probe {
  readonly ok: boolean;
  /** Create, query and close together. */
  readonly ms: number;
  /** Monotonic time at its end. */
  readonly atMs: number;
}

/** What the others look like now, for comparison. */
export interface OtherStripe {
  /** Median of its latest successful probes; null without one. */
  readonly latencyMs: number | null;
  /** Whether its latest probes all failed. */
  readonly failing: boolean;
}

export interface Symptom {
  readonly verdict: Verdict;
  readonly reason: string;
}

/** Everything that is remembered of a stripe. */
export interface Watched {
  readonly verdict: Verdict;
  readonly reason: string;
  /** Monotonic time since when the verdict holds. */
  readonly sinceMs: number;
  /** The usual latency; null before the first successful probe. */
  readonly pastMs: number | null;
  /** Probes that failed before the first that succeeded. */
  readonly failedFirst: number;
  /** The latest probes, oldest first. */
  readonly probes: readonly Probe[];
  /** Symptoms in a row that are worse than the verdict and the mildest of them, or better and the worst of them. */
  readonly run: { readonly direction: "worse" | "better"; readonly count: number; readonly to: Symptom } | null;
}

export function newlyWatched(nowMs: number): Watched {
  const reason = "not probed yet";
  return { verdict: "unknown", reason, sinceMs: nowMs, pastMs: null, failedFirst: 0, probes: [], run: null };
}

/** Takes a probe in. The verdict is not touched. */
export function withProbe(watched: Watched, probe: Probe): Watched {
  // What failed before the stripe was up says nothing of it.
  const before = watched.pastMs === null && probe.ok ? [] : watched.probes;
  const probes = [...before, probe].slice(-VERDICT_RULES.windowProbes);
  const failedFirst = watched.pastMs === null && !probe.ok ? watched.failedFirst + 1 : watched.failedFirst;
  return { ...watched, probes, failedFirst, pastMs: probe.ok ? pastWith(watched, probe.ms) : watched.pastMs };
}

function pastWith({ pastMs, verdict }: Watched, ms: number): number {
  if (pastMs === null) return ms;
  const { pastDown, pastUp, pastGrowth, pastGrowthWhileIll } = VERDICT_RULES;
  if (ms < pastMs) return pastMs + (ms - pastMs) * pastDown;
  const growth = verdict === "healthy" || verdict === "unknown" ? pastGrowth : pastGrowthWhileIll;
  return Math.min(pastMs + (ms - pastMs) * pastUp, pastMs * (1 + growth));
}

/** Median latency of the latest successful probes. */
export function latencyOf({ probes }: Watched): number | null {
  return median(probes.slice(-VERDICT_RULES.recentProbes).flatMap(({ ok, ms }) => (ok ? [ms] : [])));
}

/** Share of successful probes; null without any. */
export function successRateOf({ probes }: Watched): number | null {
  return probes.length === 0 ? null : probes.filter(({ ok }) => ok).length / probes.length;
}

export function asOther(watched: Watched): OtherStripe {
  return { latencyMs: latencyOf(watched), failing: failuresInARow(watched) >= VERDICT_RULES.failuresInARow };
}

/** What the stripe looks like now. @param others all other stripes that are probed */
export function symptomOf(watched: Watched, others: readonly OtherStripe[], nowMs: number): Symptom {
  const { probesMin, staleMs, windowProbes, firstProbesMax } = VERDICT_RULES;
  const { probes } = watched;
  if (nowMs - (probes.at(-1)?.atMs ?? -Infinity) > staleMs)
    return { verdict: "unknown", reason: "no probe ended lately" };
  if (watched.pastMs === null && watched.failedFirst <= firstProbesMax) {
    return { verdict: "unknown", reason: "it has never answered yet" };
  }
  if (probes.length < probesMin) return { verdict: "unknown", reason: "too few probes yet" };
  const failing = failureSymptom(watched);
  if (failing.verdict !== "healthy" && others.length > 0 && others.every((other) => other.failing)) {
    return { verdict: "unknown", reason: "probes of every stripe fail: the fault may be here" };
  }
  const slow = latencySymptom(watched, others);
  if (isWorse(slow.verdict, failing.verdict)) return slow;
  return failing.verdict === "healthy"
    ? { verdict: "healthy", reason: `probes succeed (${windowProbes} looked at)` }
    : failing;
}

function failureSymptom(watched: Watched): Symptom {
  const rules = VERDICT_RULES;
  const inARow = failuresInARow(watched);
  if (inARow >= rules.failuresInARow) return { verdict: "unhealthy", reason: "probes fail one after another" };
  const rate = successRateOf(watched) ?? 1;
  if (rate < rules.unhealthyBelow) return { verdict: "unhealthy", reason: "most probes fail" };
  if (rate < rules.degradedBelow) return { verdict: "degraded", reason: "some probes fail" };
  return { verdict: "healthy", reason: "" };
}

function latencySymptom(watched: Watched, others: readonly OtherStripe[]): Symptom {
  const ms = latencyOf(watched);
  if (ms === null) return { verdict: "healthy", reason: "" };
  const othersMs = median(others.flatMap(({ latencyMs }) => (latencyMs === null ? [] : [latencyMs])));
  const slower = (rule: { ms: number; timesOwnPast: number; timesOthers: number }): boolean => {
    const thanPast = watched.pastMs === null || ms >= rule.timesOwnPast * watched.pastMs;
    const thanOthers = othersMs === null || ms >= rule.timesOthers * othersMs;
    return ms >= rule.ms && thanPast && thanOthers;
  };
  if (slower(VERDICT_RULES.unhealthySlow))
    return { verdict: "unhealthy", reason: "far slower than usual and than the others" };
  if (slower(VERDICT_RULES.degradedSlow))
    return { verdict: "degraded", reason: "slower than usual and than the others" };
  return { verdict: "healthy", reason: "" };
}

/** The verdict after one more look. Call it once for each probe, so that symptoms are counted in probes. */
export function judged(watched: Watched, symptom: Symptom, nowMs: number): Watched {
  const { verdict } = watched;
  const change = (to: Symptom): Watched => ({ ...watched, ...to, sinceMs: nowMs, run: null });
  if (symptom.verdict === verdict) return { ...watched, run: null };
  // Not knowing is told at once, and the first good look after it is believed: both mean "assume healthy".
  if (symptom.verdict === "unknown" || (verdict === "unknown" && symptom.verdict === "healthy")) return change(symptom);
  const direction = verdict === "unknown" || isWorse(symptom.verdict, verdict) ? "worse" : "better";
  const before = watched.run?.direction === direction ? watched.run : null;
  const worst = before !== null && isWorse(before.to.verdict, symptom.verdict) ? before.to : symptom;
  const mildest = before !== null && isWorse(symptom.verdict, before.to.verdict) ? before.to : symptom;
  const run = { direction, count: (before?.count ?? 0) + 1, to: direction === "worse" ? mildest : worst } as const;
  const enough = direction === "worse" ? VERDICT_RULES.worseAfter : VERDICT_RULES.betterAfter;
  return run.count >= enough ? change(run.to) : { ...watched, run };
}

function failuresInARow({ probes }: Watched): number {
  return probes.length - 1 - probes.findLastIndex(({ ok }) => ok);
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}
