// Whether the memory of a proxy and of a service stays what it is under load for minutes: creates, then a mix, in turn.
// A heap breathes: it grows until it is collected, and the engine keeps pages that it may need again. What a leak moves is
// what is left after a collection, so the slope is that of the used heap's floors: of the second half against the first,
// warm-up left out. Resident memory is in the samples beside it.
import { addAll, type Measured, round, type Say } from "../figures.ts";
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
  /** Used of the heap. */
  readonly proxy_heap_mb: number;
  readonly service_heap_mb: number;
}

export async function measureSoak(seconds: number, say: Say): Promise<Measured> {
  await using rig = await Rig.start({ stripes: 1 });
  const startMs = monotonicMs();
  const elapsedS = (): number => (monotonicMs() - startMs) / 1000;
  const samples: Sample[] = [];
  const stop = new AbortController();
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      samples.push(await sampleOf(rig, elapsedS()));
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
    round(floorsPerMinute(counted.map((s) => [s.at_s, of(s)])), 2);
  return {
    part: {
      ratios: {},
      figures: {
        soak_proxy_mb_per_min: slope((s) => s.proxy_heap_mb),
        soak_service_mb_per_min: slope((s) => s.service_heap_mb),
      },
      details: { seconds, in_flight: IN_FLIGHT, requests, warm_up_s: seconds * WARM_UP_SHARE, samples },
    },
    otherCores: rig.otherCoresMax,
  };
}

async function sampleOf(rig: Rig, atS: number): Promise<Sample> {
  const { proxies, stripes } = rig.cluster.info();
  const [proxy, service] = [proxies[0], stripes[0]?.services[0]];
  return {
    at_s: round(atS, 1),
    proxy_mb: round(rssMb(proxy?.pid ?? 0), 1),
    service_mb: round(rssMb(service?.pid ?? 0), 1),
    proxy_heap_mb: await usedHeapMb(proxy?.url ?? ""),
    service_heap_mb: await usedHeapMb(service?.url ?? ""),
  };
}

async function usedHeapMb(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return round(Number(/^nodejs_heap_size_used_bytes\{.*\} (\d+)/m.exec(text)?.[1]) / 2 ** 20, 1);
}

/** How much higher the second half's floor is than the first's, a minute. @param points seconds and value, in order */
export function floorsPerMinute(points: readonly (readonly [number, number])[]): number {
  const middle = Math.floor(points.length / 2);
  const floor = (some: typeof points): number => Math.min(...some.map(([, value]) => value));
  const minutes = ((points[middle]?.[0] ?? 0) - (points[0]?.[0] ?? 0)) / 60;
  return (floor(points.slice(middle)) - floor(points.slice(0, middle))) / minutes;
}
