// How a stripe is broken, and made whole again.
import { listStripes } from "../../ops/db/list-stripes.ts";
import { openControl } from "../../ops/db/open-control.ts";
import { upsertStripe } from "../../ops/db/upsert-stripe.ts";
import { CONTROL_SCHEMA } from "../../migrations/migrate.ts";
import type { Cluster } from "../../local-cluster/cluster.ts";
import { sleep } from "../../runtime/clock.ts";
import { Relays } from "../relays.ts";

export const FAULTS = ["source", "services", "network", "slow"] as const;
export type Fault = (typeof FAULTS)[number];

/** What every call to a slow stripe takes longer. */
const SLOW_MS = 2_000;
/** Shorter than it takes to start a service. */
const KILL_AGAIN_MS = 150;

/** Parses `--fault`: one of the faults, or `all`. */
export function faultsOf(text: string): readonly Fault[] {
  const faults = text === "all" ? FAULTS : FAULTS.filter((fault) => fault === text);
  if (faults.length === 0) throw new Error(`no such fault: ${text}`);
  return faults;
}

/** Breaks a stripe. @returns what ends the fault */
export async function breakStripe(cluster: Cluster, stripe: number, fault: Fault): Promise<() => Promise<void>> {
  switch (fault) {
    case "source":
      return freeze(pidOf(cluster, stripe, (s) => s.mysql.find(({ role }) => role === "source")?.pid));
    case "network":
      // Everything between the services and their databases goes through it.
      return freeze(pidOf(cluster, stripe, (s) => s.haproxy.pid));
    case "services":
      return keepKilled(cluster, stripe);
    case "slow":
      return slowDown(cluster, stripe);
  }
}

/** Puts a slow link between the proxies and the stripe's services, by the routing table. */
async function slowDown(cluster: Cluster, stripe: number): Promise<() => Promise<void>> {
  const urls = stripeOf(cluster, stripe).services.map(({ url }) => url);
  const servers = urls.map((name) => ({ name, address: "127.0.0.1", port: Number(new URL(name).port) }));
  const relays = new Relays();
  const ports = await relays.start({ delayMs: SLOW_MS, servers });
  await setServices(
    cluster,
    stripe,
    urls.map((url) => `http://127.0.0.1:${ports[url]}`),
  );
  return async () => {
    await setServices(cluster, stripe, urls);
    relays.stop();
  };
}

async function setServices(cluster: Cluster, stripe: number, services: readonly string[]): Promise<void> {
  const control = openControl({ ...cluster.target("control", cluster.info().control.port), database: CONTROL_SCHEMA });
  try {
    const [row] = await listStripes(control, stripe);
    if (row === undefined) throw new Error(`there is no stripe ${stripe}`);
    await upsertStripe(control, { ...row, services });
  } finally {
    await control.destroy();
  }
}

type StripeInfo = ReturnType<Cluster["info"]>["stripes"][number];

function stripeOf(cluster: Cluster, stripe: number): StripeInfo {
  const found = cluster.info().stripes.find((s) => s.stripe === stripe);
  if (found === undefined) throw new Error(`there is no stripe ${stripe}`);
  return found;
}

function pidOf(cluster: Cluster, stripe: number, pick: (s: StripeInfo) => number | null | undefined): number {
  const pid = pick(stripeOf(cluster, stripe));
  if (pid === null || pid === undefined) throw new Error(`stripe ${stripe} has no such process now`);
  return pid;
}

function freeze(pid: number): () => Promise<void> {
  process.kill(pid, "SIGSTOP");
  return async () => {
    signal(pid, "SIGCONT");
  };
}

/** The launcher starts killed services again, so they are killed again until the fault ends. */
function keepKilled(cluster: Cluster, stripe: number): () => Promise<void> {
  const end = new AbortController();
  const loop = (async () => {
    while (!end.signal.aborted) {
      for (const { pid } of stripeOf(cluster, stripe).services) if (pid !== null) signal(pid, "SIGKILL");
      await sleep(KILL_AGAIN_MS, end.signal);
    }
  })();
  return async () => {
    end.abort();
    await loop;
  };
}

/** A process that is gone needs no signal. */
function signal(pid: number, name: "SIGCONT" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
