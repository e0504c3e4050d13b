// Latency of creates by how many are in flight: where the knee is.
import { type Part, type Plan, round, type Say } from "../figures.ts";
import type { Rig } from "../rig.ts";

const IN_FLIGHT = [1, 4, 16, 32, 64, 128, 192, 256] as const;

export interface CurvePoint {
  readonly in_flight: number;
  readonly per_s: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
}

export async function measureCurve(rig: Rig, plan: Plan, say: Say): Promise<Part> {
  const points: CurvePoint[] = [];
  for (const connections of IN_FLIGHT) {
    const { value } = await rig.watched(() => rig.run({ kind: "create", connections, ms: plan.seconds * 1000 }));
    points.push({
      in_flight: connections,
      per_s: round(value.done / value.seconds, 0),
      p50_ms: round(value.p50Ms),
      p99_ms: round(value.p99Ms),
      max_ms: round(value.maxMs),
    });
    say(
      `${connections} in flight: ${points.at(-1)?.per_s}/s, p50 ${points.at(-1)?.p50_ms} ms, p99 ${points.at(-1)?.p99_ms} ms`,
    );
  }
  return { ratios: {}, figures: {}, details: { points } };
}
