// Whether the memory of a proxy and of a service stays what it is under load for minutes: creates, then a mix, in turn.
// Heaps breathe, so the slope is the median of the slopes between all pairs of samples (Theil and Sen), warm-up left out.
import { addAll, median, type Measured, round, type Say } from "../figures.ts";
import { rssMb } from "../processes.ts";
import { Rig } from "../rig.ts";
import { monotonicMs, sleep } from "../../../runtime/clock.ts";

const IN_FLIGHT = 64;
const TURN_MS = 10_000;
const SAMPLE_MS = 2_000;
/** Of the whole time, what is left out at the start. */
const WARM_UP_SHARE = 0.25;

interface Sample {
  readonly at_s: number;
  readonly proxy_mb: number;
  readonly service_mb: number;
}

export async function measureSoak(seconds: number, say: Say): Promise<Measured> {
  await using rig = await Rig.start({ stripes: 1 });
  const startMs = monotonicMs();
  const elapsedS = (): number => (monotonicMs() - startMs) / 1000;
  const samples: Sample[] = [];
  const stop = new AbortController();
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      samples.push(sampleOf(rig, elapsedS()));
      await sleep(SAMPLE_MS, stop.signal);
    }
  })();
  let requests = 0;
  while (elapsedS() < seconds) {
    const ids: string[] = [];
    for (const kind of ["create", "mixed"] as const) {
      const { value } = await rig.watched(() => rig.run({ kind, connections: IN_FLIGHT, ms: TURN_MS, ids: [...ids] }));
      requests += value.done;
      addAll(ids, value.ids);
    }
    const last = samples.at(-1);
    say(
      `${elapsedS().toFixed(0)} s: ${requests} requests, proxy ${last?.proxy_mb} MiB, service ${last?.service_mb} MiB`,
    );
  }
  stop.abort();
  await sampling;
  const counted = samples.filter(({ at_s: at }) => at >= seconds * WARM_UP_SHARE);
  const slope = (of: (sample: Sample) => number): number =>
    round(slopePerMinute(counted.map((s) => [s.at_s, of(s)])), 2);
  return {
    part: {
      ratios: {},
      figures: {
        soak_proxy_mb_per_min: slope((s) => s.proxy_mb),
        soak_service_mb_per_min: slope((s) => s.service_mb),
      },
      details: { seconds, in_flight: IN_FLIGHT, requests, warm_up_s: seconds * WARM_UP_SHARE, samples },
    },
    otherCores: rig.otherCoresMax,
  };
}

function sampleOf(rig: Rig, atS: number): Sample {
  const { proxies, stripes } = rig.cluster.info();
  return {
    at_s: round(atS, 1),
    proxy_mb: round(rssMb(proxies[0]?.pid ?? 0), 1),
    service_mb: round(rssMb(stripes[0]?.services[0]?.pid ?? 0), 1),
  };
}

/** The median slope of all pairs of points, a minute. @param points seconds and value */
export function slopePerMinute(points: readonly (readonly [number, number])[]): number {
  const slopes: number[] = [];
  for (const [i, [at, value]] of points.entries()) {
    for (const [later, then] of points.slice(i + 1)) if (later > at) slopes.push(((then - value) / (later - at)) * 60);
  }
  return median(slopes);
}
