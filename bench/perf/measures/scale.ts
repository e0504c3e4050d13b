// One, two and four stripes whose replicas are far away: each acknowledgement takes 20 ms longer, so that waiting and not
// this machine's processor is what limits a stripe. Fresh clusters in turn, the same number of callers for each stripe.
import type { PeerPort } from "../../../local-cluster/agents-config.ts";
import type { ServerPlan } from "../../../local-cluster/plan.ts";
import { Relays } from "../../relays.ts";
import { median, type Measured, type Plan, round, type Say } from "../figures.ts";
import { Rig } from "../rig.ts";

const DELAY_MS = 20;
const CALLERS_PER_STRIPE = 8;
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
    await using rig = await Rig.start({ stripes, between: (servers) => delayAcks(relays, servers) });
    const order = { kind: "create", connections: CALLERS_PER_STRIPE * stripes } as const;
    await rig.run({ ...order, ms: plan.warmUpSeconds * 1000 });
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
    part: { ratios, figures: {}, details: { ack_delay_ms: DELAY_MS, callers_per_stripe: CALLERS_PER_STRIPE, runs } },
    otherCores,
  };
}

async function delayAcks(relays: Relays, servers: readonly ServerPlan[]): Promise<PeerPort> {
  const links = servers.map(({ name, address, port }) => ({ name, address, port }));
  const ports = await relays.start({ delayMs: DELAY_MS, servers: links });
  return ({ name, port }) => ports[name] ?? port;
}
