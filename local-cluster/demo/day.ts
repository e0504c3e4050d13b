// One run of the demo: plan the day, play it with a source killed halfway, check it from outside.
import { monotonicMs, sleep, wallNowMs } from "../../runtime/clock.ts";
import { schemaName } from "../../core/ids.ts";
import { checkMoney, readAllBack, twiceOpen } from "./checks.ts";
import { DemoClient } from "./client.ts";
import { readStoredOrders, type StoredOrder } from "./db/stripe-facts.ts";
import { planDay, type PlannedOrder } from "./plan.ts";
import { type Played, Player } from "./player.ts";
import { formatReports, reportStripe, type StripeReport } from "./report.ts";

export interface DemoServer {
  readonly name: string;
  readonly role: string;
  readonly address: string;
  readonly port: number;
  /** Null: not known, or it is being started again. */
  readonly pid: number | null;
}

/** What the demo needs to know of a cluster; cluster.json says that and more. */
export interface DemoCluster {
  readonly proxies: readonly { readonly url: string }[];
  readonly stripes: readonly { readonly stripe: number; readonly mysql: readonly DemoServer[] }[];
  /** An account that may read every database of the cluster. */
  readonly user: string;
  readonly password: string;
}

export interface DayOptions {
  /** The cluster as it is now. */
  readonly cluster: () => Promise<DemoCluster>;
  readonly orders: number;
  readonly merchants: number;
  readonly seed: number;
  readonly parallel: number;
  /** Kills a server and says so; null lets every source live. Else one stripe's source is killed halfway. */
  readonly kill: ((server: DemoServer) => void) | null;
  readonly say: (line: string) => void;
}

export interface DayResult {
  readonly reports: readonly StripeReport[];
  readonly acknowledged: number;
  readonly twiceOpen: readonly string[];
  /** Everything that should not be; empty = the day was good. */
  readonly faults: readonly string[];
}

const GIVE_UP_MS = 90_000;
const EXPIRY_WAIT_MAX_MS = 90_000;
const EXPIRY_POLL_MS = 500;
/** Place of every stripe of a local cluster. */
const PLACE = 1;

function killSource(cluster: DemoCluster, seed: number, kill: (server: DemoServer) => void): void {
  const stripe = cluster.stripes[seed % cluster.stripes.length];
  const source = stripe?.mysql.find((server) => server.role === "source");
  if (source === undefined) throw new Error("the chosen stripe has no source to kill");
  kill(source);
}

async function playAll(plan: readonly PlannedOrder[], client: DemoClient, options: DayOptions) {
  const player = new Player(client, wallNowMs);
  const day: Played[] = [];
  const faults: string[] = [];
  let started = 0;
  const queue = plan.values();
  const worker = async (): Promise<void> => {
    for (const planned of queue) {
      started += 1;
      if (options.kill !== null && started === Math.floor(plan.length / 2)) {
        killSource(await options.cluster(), options.seed, options.kill);
      }
      try {
        day.push(await player.play(planned));
      } catch (error) {
        faults.push(`${planned.order.out_trade_no}: ${(error as Error).message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
  return { day, faults };
}

async function readStripes(cluster: DemoCluster, mchidPrefix: string): Promise<StoredOrder[]> {
  const perStripe = cluster.stripes.map((stripe) => {
    const source = stripe.mysql.find((server) => server.role === "source");
    if (source === undefined) throw new Error(`stripe ${stripe.stripe} has no source now`);
    const { user, password } = cluster;
    const database = schemaName(stripe.stripe, PLACE);
    return readStoredOrders({ host: source.address, port: source.port, user, password, database }, mchidPrefix);
  });
  return (await Promise.all(perStripe)).flat();
}

async function waitForExpiry(day: readonly Played[], options: DayOptions, prefix: string): Promise<void> {
  const ids = new Set(day.filter((p) => p.plan.fate === "expire").map((p) => p.created.transaction_id));
  options.say(`waiting for ${ids.size} unpaid orders to expire (the contract's shortest time is 60 s)`);
  const limit = monotonicMs() + EXPIRY_WAIT_MAX_MS;
  for (;;) {
    const stored = await readStripes(await options.cluster(), prefix);
    const open = stored.filter((o) => ids.has(o.transactionId) && o.state === "NOTPAY").length;
    if (open === 0 || monotonicMs() > limit) return;
    await sleep(EXPIRY_POLL_MS);
  }
}

/** Plays and checks one day. @returns what was found; `faults` is empty when all held */
export async function playDay(options: DayOptions): Promise<DayResult> {
  const { cluster, say } = options;
  const run = wallNowMs().toString(36);
  const prefix = `demo-${run}-`;
  const plan = planDay(run, options.seed, options.merchants, options.orders);
  say(`a day of ${plan.length} orders of ${options.merchants} merchants (seed ${options.seed}, run ${run})`);
  const client = new DemoClient(
    (await cluster()).proxies.map((proxy) => proxy.url),
    GIVE_UP_MS,
  );
  try {
    const started = monotonicMs();
    const { day, faults } = await playAll(plan, client, options);
    const seconds = (monotonicMs() - started) / 1000;
    say(`played in ${seconds.toFixed(1)} s (${(plan.length / seconds).toFixed(0)} orders/s); attempts by status:`);
    say(
      `  ${[...client.attempts]
        .sort(([a], [b]) => a - b)
        .map(([s, n]) => `${s || "no answer"} × ${n}`)
        .join(", ")}`,
    );
    const twice = twiceOpen(await readStripes(await cluster(), prefix));
    await waitForExpiry(day, options, prefix);
    faults.push(...(await readAllBack(client, day, options.parallel)));
    const stored = await readStripes(await cluster(), prefix);
    faults.push(...checkMoney(day, stored));
    const reports = (await cluster()).stripes.map((s) => reportStripe(s.stripe, day, stored));
    say(formatReports(reports));
    return { reports, acknowledged: day.length, twiceOpen: twice, faults };
  } finally {
    await client.close();
  }
}
