// How a stripe is broken, and made whole again, by signals to its processes.
import type { Cluster } from "../../local-cluster/cluster.ts";
import { sleep } from "../../runtime/clock.ts";

export const FAULTS = ["source", "services", "network"] as const;
export type Fault = (typeof FAULTS)[number];

/** Shorter than it takes to start a service. */
const KILL_AGAIN_MS = 150;

/** Parses `--fault`: one of the faults, or `all`. */
export function faultsOf(text: string): readonly Fault[] {
  const faults = text === "all" ? FAULTS : FAULTS.filter((fault) => fault === text);
  if (faults.length === 0) throw new Error(`no such fault: ${text}`);
  return faults;
}

/** Breaks a stripe. @returns what ends the fault */
export function breakStripe(cluster: Cluster, stripe: number, fault: Fault): () => Promise<void> {
  switch (fault) {
    case "source":
      return freeze(pidOf(cluster, stripe, (s) => s.mysql.find(({ role }) => role === "source")?.pid));
    case "network":
      // Everything between the services and their databases goes through it.
      return freeze(pidOf(cluster, stripe, (s) => s.haproxy.pid));
    case "services":
      return keepKilled(cluster, stripe);
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
