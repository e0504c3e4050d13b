// What several health checkers together say of the stripes, and how much of it may be acted upon. Verdicts are advice:
// placement prefers other stripes to one that is unhealthy, and nothing that must be right rests on them.

export const VERDICTS = ["unknown", "healthy", "degraded", "unhealthy"] as const;
export type Verdict = (typeof VERDICTS)[number];

const SEVERITY: Readonly<Record<Verdict, number>> = { unknown: -1, healthy: 0, degraded: 1, unhealthy: 2 };

/** Whether `a` is a worse thing to say of a stripe than `b`. */
export function isWorse(a: Verdict, b: Verdict): boolean {
  return SEVERITY[a] > SEVERITY[b];
}

/**
 * What the majority of those that have an opinion says: the worst verdict that more than half of them at least agree
 * on. A tie goes to the better one; without an opinion it is `unknown`.
 */
export function majorityVerdict(votes: readonly Verdict[]): Verdict {
  const known = votes.filter((vote) => vote !== "unknown").sort((a, b) => SEVERITY[a] - SEVERITY[b]);
  return known[Math.floor((known.length - 1) / 2)] ?? "unknown";
}

/** One checker's word on one stripe. */
export interface CheckerVerdict {
  readonly stripe: number;
  readonly verdict: Verdict;
  /** RFC 3339: since when it says so. */
  readonly since: string;
  /** The same as an age, free of clocks that differ. */
  readonly ageMs: number;
  /** Median of the probes of the last seconds; null without one that succeeded. */
  readonly latencyMs: number | null;
}

/** What the checkers say of one stripe together. */
export interface MergedVerdict extends CheckerVerdict {
  /** How many checkers have an opinion. */
  readonly checkers: number;
}

/** Puts the words of several checkers together, by stripe. */
export function mergeVerdicts(reports: readonly (readonly CheckerVerdict[])[]): Map<number, MergedVerdict> {
  const byStripe = Map.groupBy(reports.flat(), ({ stripe }) => stripe);
  return new Map([...byStripe].map(([stripe, words]) => [stripe, mergeOne(stripe, words)]));
}

function mergeOne(stripe: number, words: readonly CheckerVerdict[]): MergedVerdict {
  const verdict = majorityVerdict(words.map((word) => word.verdict));
  const agreeing = words.filter((word) => word.verdict === verdict);
  const eldest = agreeing.reduce((a, b) => (b.ageMs > a.ageMs ? b : a), agreeing[0] ?? { since: "", ageMs: 0 });
  const latencies = words.flatMap(({ latencyMs }) => (latencyMs === null ? [] : [latencyMs])).sort((a, b) => a - b);
  return {
    stripe,
    verdict,
    since: eldest.since,
    ageMs: eldest.ageMs,
    latencyMs: latencies[Math.floor(latencies.length / 2)] ?? null,
    checkers: words.filter((word) => word.verdict !== "unknown").length,
  };
}

/**
 * The stripes of one partition that verdicts alone take out of placement: the unhealthy ones, but never more than half
 * of the partition. When more are called unhealthy than that, the network of those who say so is the likelier fault;
 * those that have been unhealthy for longest are taken out.
 * @param members every stripe of the partition that the table lets take creates
 */
export function takenOutByVerdict(
  members: readonly number[],
  verdicts: ReadonlyMap<number, Pick<MergedVerdict, "verdict" | "ageMs">>,
): ReadonlySet<number> {
  const unhealthy = members
    .filter((stripe) => verdicts.get(stripe)?.verdict === "unhealthy")
    .sort((a, b) => (verdicts.get(b)?.ageMs ?? 0) - (verdicts.get(a)?.ageMs ?? 0) || a - b);
  return new Set(unhealthy.slice(0, Math.floor(members.length / 2)));
}
