// What the hot routes save: the same creates served ahead of Express and by Express, in turn. A header that means the same
// and that few clients send is what makes the difference.
import { median, type Part, type Plan, round, type Say } from "../figures.ts";
import type { Rig } from "../rig.ts";

const IN_FLIGHT = 128;

interface Run {
  readonly perS: number;
  readonly p99Ms: number;
  readonly proxyUs: number;
}

export async function measureEdge(rig: Rig, plan: Plan, say: Say): Promise<Part> {
  const run = async (unusual: boolean): Promise<Run> => {
    const order = { kind: "create", connections: IN_FLIGHT, ms: plan.seconds * 1000, unusual } as const;
    const { value, cpu } = await rig.watched(() => rig.run(order));
    const proxyUs = (cpu.byProcess.proxy ?? 0) / value.done;
    return { perS: value.done / value.seconds, p99Ms: value.p99Ms, proxyUs };
  };
  const rounds: { readonly hot: Run; readonly express: Run }[] = [];
  for (let i = 0; i < plan.rounds; i++) {
    const [hot, express] = [await run(false), await run(true)];
    rounds.push({ hot, express });
    say(
      `edge ${i + 1}: hot ${hot.perS.toFixed(0)}/s at ${hot.proxyUs.toFixed(0)} µs in the proxy, ` +
        `Express ${express.perS.toFixed(0)}/s at ${express.proxyUs.toFixed(0)} µs`,
    );
  }
  const of = (which: "hot" | "express", what: keyof Run): number => round(median(rounds.map((r) => r[which][what])), 1);
  return {
    ratios: { hot_edge_to_express: round(median(rounds.map(({ hot, express }) => hot.perS / express.perS))) },
    figures: {},
    details: {
      in_flight: IN_FLIGHT,
      hot: { per_s: of("hot", "perS"), p99_ms: of("hot", "p99Ms"), proxy_us: of("hot", "proxyUs") },
      express: { per_s: of("express", "perS"), p99_ms: of("express", "p99Ms"), proxy_us: of("express", "proxyUs") },
    },
  };
}
