// Rounds of the failover bench: break a source (or ask for a switchover) under load, measure what clients see, wait
// until the triple is whole again.
import { request } from "undici";
import { NOTHING_WRITTEN } from "../../core/errors.ts";
import type { Cluster } from "../../local-cluster/cluster.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import type { FailoverLoad, PayTry } from "./load.ts";

export const MODES = ["kill", "stop", "switchover"] as const;
export type Mode = (typeof MODES)[number];

export interface Round {
  readonly mode: Mode;
  readonly stripe: number;
  /** From the fault to the end of the first successful pay that began after it, milliseconds. */
  readonly outageMs: number;
  /** Answers other than 200, by code: STRIPE_UNAVAILABLE, STRIPE_READ_ONLY and OVERLOADED say that nothing was written. */
  readonly refused: Readonly<Record<string, number>>;
  /** Pays in doubt after their answer (500, 503 NOT_DURABLE, 504, lost connection). */
  readonly uncertain: number;
  /** From the fault until the triple had its source and two followers again, and no problem. */
  readonly wholeMs: number;
}

const STOCK_MIN = 120;
const LIMIT_MS = 90_000;
const POLL_MS = 20;
const SETTLE_MS = 300;

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = monotonicMs() + LIMIT_MS;
  while (!(await holds())) {
    if (monotonicMs() > limit) throw new Error(`${what} within ${LIMIT_MS} ms did not come`);
    await sleep(POLL_MS);
  }
}

/** The triple's record is idle, nothing is wrong with it, and its three servers have their roles. */
async function isWhole(cluster: Cluster, stripe: number): Promise<boolean> {
  const info = cluster.info();
  const roles = info.stripes.find((s) => s.stripe === stripe)?.mysql.map((m) => m.role) ?? [];
  if (roles.filter((r) => r === "source").length !== 1 || roles.filter((r) => r === "replica").length !== 2)
    return false;
  for (const { url } of info.checkers) {
    const { body } = await request(`${url}/triples`);
    const { triples } = (await body.json()) as {
      triples: {
        stripe: number;
        leads: boolean;
        running: unknown;
        problems: unknown[];
        record: { phase: string } | null;
      }[];
    };
    const mine = triples.find((t) => t.stripe === stripe && t.leads);
    if (mine !== undefined) return mine.problems.length === 0 && mine.running === null && mine.record?.phase === "IDLE";
  }
  return false;
}

async function breakIt(cluster: Cluster, stripe: number, mode: Mode): Promise<void> {
  const info = cluster.info();
  const source = info.stripes.find((s) => s.stripe === stripe)?.mysql.find((m) => m.role === "source");
  if (source === undefined || source.pid === null) throw new Error(`stripe ${stripe} has no source`);
  if (mode === "switchover") {
    const { statusCode, body } = await request(`${info.ops.url}/ops/v1/stripes/${stripe}/switchover`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    await body.dump();
    if (statusCode !== 202) throw new Error(`switchover was answered ${statusCode}`);
  } else process.kill(source.pid, mode === "kill" ? "SIGKILL" : "SIGSTOP");
}

/** The longest time without a successful pay, for a switchover, whose moment is the controller's to choose. */
function longestGap(pays: readonly PayTry[], fromMs: number): number {
  const ends = pays.filter((p) => p.status === 200 && p.endedMs >= fromMs).map((p) => p.endedMs);
  const sorted = [fromMs, ...ends.sort((a, b) => a - b)];
  return sorted.reduce((gap, t, i) => Math.max(gap, i === 0 ? 0 : t - (sorted[i - 1] ?? t)), 0);
}

function sourceName(cluster: Cluster, stripe: number): string | undefined {
  return cluster
    .info()
    .stripes.find((s) => s.stripe === stripe)
    ?.mysql.find((m) => m.role === "source")?.name;
}

/** Plays one round. */
export async function playRound(cluster: Cluster, load: FailoverLoad, stripe: number, mode: Mode): Promise<Round> {
  await until("a whole triple", () => isWhole(cluster, stripe));
  await until("a stock of orders", () => load.stock(stripe) >= STOCK_MIN);
  load.pays = [];
  load.victim = stripe;
  await until("the first pays", () => load.pays.filter((p) => p.status === 200).length >= load.payers);
  const before = sourceName(cluster, stripe);
  const faultMs = monotonicMs();
  await breakIt(cluster, stripe, mode);
  const after = (p: PayTry): boolean => p.status === 200 && p.beganMs > faultMs;
  if (mode === "switchover") await until("another source", () => changed(cluster, stripe, before));
  await until("a pay", () => load.pays.some(after));
  if (mode === "switchover") await sleep(SETTLE_MS);
  const first = load.pays.find(after)?.endedMs ?? monotonicMs();
  load.victim = null;
  await until("a whole triple", async () => changed(cluster, stripe, before) && (await isWhole(cluster, stripe)));
  const refused: Record<string, number> = {};
  for (const { code } of load.pays) if (code !== "") refused[code] = (refused[code] ?? 0) + 1;
  const uncertain = load.pays.filter(({ code }) => code !== "" && !NOTHING_WRITTEN.has(code));
  return {
    mode,
    stripe,
    outageMs: mode === "switchover" ? longestGap(load.pays, faultMs) : first - faultMs,
    refused,
    uncertain: uncertain.length,
    wholeMs: monotonicMs() - faultMs,
  };
}

function changed(cluster: Cluster, stripe: number, before: string | undefined): boolean {
  const now = sourceName(cluster, stripe);
  return now !== undefined && now !== before;
}
