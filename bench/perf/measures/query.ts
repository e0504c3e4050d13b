// Queries by number against a point select of the driver, of the same rows, in turn.
import { median, type Part, type Plan, round, type Say } from "../figures.ts";
import type { LoadResult } from "../load.ts";
import type { Rig } from "../rig.ts";

const IN_FLIGHT = 64;
const POOL = 8;
const IDS_MAX = 20_000;

export async function measureQueries(rig: Rig, plan: Plan, say: Say, stock: readonly string[]): Promise<Part> {
  const ids = stock.slice(-IDS_MAX);
  const ms = plan.seconds * 1000;
  await rig.run({ kind: "query", connections: IN_FLIGHT, ms: plan.warmUpSeconds * 1000, ids });
  await rig.pointSelects({ connections: POOL, ms: plan.warmUpSeconds * 1000, ids });
  const rounds: (Omit<LoadResult, "ids"> & { readonly rate: number; readonly select: number })[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    const { value } = await rig.watched(() => rig.run({ kind: "query", connections: IN_FLIGHT, ms, ids }));
    const select = await rig.pointSelects({ connections: POOL, ms, ids });
    const { ids: _, ...own } = value;
    rounds.push({ ...own, rate: own.done / own.seconds, select });
    say(
      `query ${i + 1}: ${(own.done / own.seconds).toFixed(0)}/s, p99 ${own.p99Ms.toFixed(1)} ms; point select ${select.toFixed(0)}/s`,
    );
  }
  const of = (what: (r: (typeof rounds)[number]) => number): number => median(rounds.map(what));
  return {
    ratios: { queries_to_point_select: round(of((r) => r.rate / r.select)) },
    figures: {},
    details: {
      queries_per_s: round(
        of((r) => r.rate),
        0,
      ),
      query_p50_ms: round(of((r) => r.p50Ms)),
      query_p99_ms: round(of((r) => r.p99Ms)),
      query_max_ms: round(of((r) => r.maxMs)),
      point_selects_per_s: round(
        of((r) => r.select),
        0,
      ),
      rounds,
    },
  };
}
