// One, two and four stripes whose replicas are far away: each acknowledgement takes 20 ms longer, and a stripe commits one
// batch of a few orders at a time, so that waiting and not this machine's processor is what limits it. Callers keep
// every stripe's queue full, as many at each. Fresh clusters in turn.
import type { PeerPort } from "../../../local-cluster/agents-config.ts";
import type { ServerPlan } from "../../../local-cluster/plan.ts";
import { Relays } from "../../relays.ts";
import { median, type Measured, type Plan, round, type Say } from "../figures.ts";
import { Rig } from "../rig.ts";

const DELAY_MS = 20;
/** What a stripe can do is then 8 orders each 20 ms and a little: a tenth of what the processor could. */
const BATCH = { BATCH_FLUSHERS: "1", BATCH_MAX: "8" } as const;
/** Three batches: one under way, one waiting, one being answered. */
const CALLERS_PER_STRIPE = 24;
/** Code that is seldom run is slow: far more callers make it known to the engine first. */
const WARM_UP_CALLERS_PER_STRIPE = 64;
const SIZES = [1, 2, 4] as const;

interface Run {
  readonly stripes: number;
  readonly creates: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function measureStripes(plan: Plan, say: Say): Promise<Measured> {
  const runs: Run[] = [];
  let otherCores = 0;
  for (const stripes of SIZES) {
    const relays = new Relays();
    await using rig = await Rig.start({
      stripes,
      serviceSettings: BATCH,
      between: (servers) => delayAcks(relays, servers),
    });
    const order = { kind: "create", connections: CALLERS_PER_STRIPE * stripes, homes: await rig.homes() } as const;
    const warmUp = { ...order, connections: WARM_UP_CALLERS_PER_STRIPE * stripes };
    await rig.run({ ...warmUp, ms: plan.warmUpSeconds * 1000 });
    const rates: Run[] = [];
    for (let i = 0; i < plan.rounds; i++) {
      const { value } = await rig.watched(() => rig.run({ ...order, ms: plan.seconds * 1000 }));
      rates.push({ stripes, creates: value.done / value.seconds, p50Ms: value.p50Ms, p99Ms: value.p99Ms });
    }
    const middle = median(rates.map(({ creates }) => creates));
    const run = rates.find(({ creates }) => creates === middle) as Run;
    runs.push(run);
    otherCores = Math.max(otherCores, rig.otherCoresMax);
    say(
      `${stripes} stripes: ${run.creates.toFixed(0)}/s, p50 ${run.p50Ms.toFixed(1)} ms, p99 ${run.p99Ms.toFixed(1)} ms`,
    );
    relays.stop();
  }
  const of = (stripes: number): number => runs.find((run) => run.stripes === stripes)?.creates ?? Number.NaN;
  const ratios = { stripes_2_to_1: round(of(2) / of(1)), stripes_4_to_1: round(of(4) / of(1)) };
  return {
    part: {
      ratios,
      figures: {},
      details: { ack_delay_ms: DELAY_MS, callers_per_stripe: CALLERS_PER_STRIPE, ...BATCH, runs },
    },
    otherCores,
  };
}

async function delayAcks(relays: Relays, servers: readonly ServerPlan[]): Promise<PeerPort> {
  const links = servers.map(({ name, address, port }) => ({ name, address, port }));
  const ports = await relays.start({ delayMs: DELAY_MS, servers: links });
  return ({ name, port }) => ports[name] ?? port;
}
