// Of ten requests four create, three pay and three query.
import { addAll, median, type Part, type Plan, round, type Say } from "../figures.ts";
import type { LoadResult } from "../load.ts";
import type { Rig } from "../rig.ts";

const IN_FLIGHT = 128;
const PER_SECOND_MAX = 4_000;

export async function measureMixed(rig: Rig, plan: Plan, say: Say, stock: string[]): Promise<Part> {
  const ms = plan.seconds * 1000;
  const rounds: (Omit<LoadResult, "ids"> & { readonly rate: number })[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    for (let tries = 0; stock.length < plan.seconds * PER_SECOND_MAX && tries < 4; tries++) {
      addAll(stock, (await rig.run({ kind: "create", connections: IN_FLIGHT, ms: 2_000 })).ids);
    }
    const ids = stock.splice(0, plan.seconds * PER_SECOND_MAX);
    const { value } = await rig.watched(() => rig.run({ kind: "mixed", connections: IN_FLIGHT, ms, ids }));
    const { ids: _, ...own } = value;
    rounds.push({ ...own, rate: own.done / own.seconds });
    say(`mixed ${i + 1}: ${(own.done / own.seconds).toFixed(0)}/s, p99 ${own.p99Ms.toFixed(1)} ms`);
  }
  const of = (what: (r: (typeof rounds)[number]) => number): number => median(rounds.map(what));
  return {
    ratios: {},
    figures: {},
    details: {
      requests_per_s: round(
        of((r) => r.rate),
        0,
      ),
      p50_ms: round(of((r) => r.p50Ms)),
      p99_ms: round(of((r) => r.p99Ms)),
      max_ms: round(of((r) => r.maxMs)),
      rounds,
    },
  };
}
