// One round: clients and mishaps for a while; then everything heals, the triple becomes whole by itself, and what was
// acknowledged is read back.
import { Random } from "../../../local-cluster/demo/random.ts";
import { monotonicMs, sleep } from "../../../runtime/clock.ts";
import { loaded } from "../../support/failover-scenarios.ts";
import { freshNo } from "../../support/orders-api.ts";
import type { LedgerLoad } from "../../support/ledger-load.ts";
import { Api, Client } from "./clients.ts";
import { OrderLedger } from "./ledger.ts";
import type { Mishap } from "./mishap.ts";
import { drawMishap } from "./mishaps.ts";
import { brokenAudit, brokenTurns, ledgerBroken } from "./read-back.ts";
import { ordersBroken, settleOrders } from "./read-back-orders.ts";
import type { FaultStand } from "./stand.ts";

const CLIENTS = 8;
const WRITERS = 2;
const WRITER_PAUSE_MS = 4;
/** The product promises a minute; a machine that others use as well may take longer. */
const SETTLE_MAX_MS = 150_000;
const RECOVERY_MAX_MS = 2_500;
const POLL_MS = 20;

export interface RoundResult {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly story: readonly string[];
  readonly answers: number;
  readonly acked: number;
  readonly refused: number;
  /** Answers that left open whether the write was made. */
  readonly doubts: number;
  readonly ledgerAcked: number;
  readonly leads: number;
  readonly tookMs: number;
}

interface Planned {
  readonly mishap: Mishap;
  readonly atMs: number;
  readonly forMs: number;
  /** Strikes while a recovery runs, if one begins in time. */
  readonly inRecovery: boolean;
  readonly random: Random;
}

function plan(random: Random): { readonly stormMs: number; readonly planned: readonly Planned[] } {
  const count = random.pick([1, 1, 1, 2, 2, 3]);
  const drawn = Array.from({ length: count }, () => drawMishap(random));
  const lonely = drawn.find(({ alone }) => alone === true);
  const mishaps = lonely === undefined ? drawn : [lonely];
  const planned = mishaps.map((mishap, n) => ({
    mishap,
    atMs: random.integer(200, n === 0 ? 600 : 2_000),
    forMs: random.pick([random.integer(100, 900), random.integer(900, 3_500), random.integer(2_000, 6_500)]),
    inRecovery: n > 0 && random.chance(0.5),
    random: new Random(random.integer(0, 0x7fff_ffff)),
  }));
  return { stormMs: random.integer(1_500, 3_500), planned };
}

/** @param story what was done when, for the report; filled as the round goes on */
export async function playRound(stand: FaultStand, seed: number, story: string[]): Promise<RoundResult> {
  const random = new Random(seed);
  const { stormMs, planned } = plan(random);
  const beganMs = monotonicMs();
  const { triple } = stand;
  const recoveriesBefore = (await triple.recoveries()).length;
  const opensBefore = await opens(stand);
  const ledger = new OrderLedger(`m-${freshNo("F")}`.slice(0, 26));
  const api = new Api(stand.proxyUrl);
  const end = new AbortController();
  const from = triple.nextLedgerId();
  const load = await loaded(triple, WRITERS, WRITER_PAUSE_MS);
  const clients = Array.from({ length: CLIENTS }, () => {
    return new Client(api, ledger, new Random(random.integer(0, 0x7fff_ffff)), end.signal).run();
  });
  try {
    await storm(stand, stormMs, planned, (line) => story.push(`${Math.round(monotonicMs() - beganMs)} ms: ${line}`));
    await stand.heal();
    story.push(`${Math.round(monotonicMs() - beganMs)} ms: healed`);
    await stand.untilSettled(SETTLE_MAX_MS);
    story.push(`${Math.round(monotonicMs() - beganMs)} ms: settled`);
    await untilServed(stand, ledger, load);
  } finally {
    end.abort();
    await Promise.all([...clients, load.stop()]);
  }
  for (const id of load.acked) stand.acked.add(id);
  const broken = [...ledger.wrong.splice(0), ...(await ledgerBroken(stand, load, from))];
  broken.push(...(await ordersBroken(stand, api, ledger)), ...(await settleOrders(api, ledger)));
  broken.push(...(await ordersBroken(stand, api, ledger)));
  broken.push(...(await brokenTurns(stand, load, from, (await opens(stand)) - opensBefore)));
  const recoveries = (await triple.recoveries()).slice(recoveriesBefore);
  const moves = planned.some(({ mishap }) => mishap.moves);
  broken.push(...(await brokenAudit(stand, recoveries, moves)));
  await api.close();
  const leads = recoveries.filter(({ kind }) => kind === "LEAD" || kind === "SWITCHOVER").length;
  return { seed, broken, story, leads, tookMs: Math.round(monotonicMs() - beganMs), ...figures(ledger, load) };
}

/** Clients are served again: rows are taken, and orders created and paid. */
async function untilServed(stand: FaultStand, ledger: OrderLedger, load: LedgerLoad): Promise<void> {
  const before = { rows: load.acked.size, writes: ledger.count("acked") };
  await stand.triple.until("clients are served again", () => {
    return Promise.resolve(load.acked.size > before.rows + CLIENTS && ledger.count("acked") > before.writes + CLIENTS);
  });
}

function figures(ledger: OrderLedger, load: LedgerLoad) {
  return {
    answers: ledger.answers + ledger.queries,
    acked: ledger.count("acked"),
    refused: ledger.count("refused"),
    doubts: ledger.doubts + load.unknown.size,
    ledgerAcked: load.acked.size,
  };
}

/** How often a server of the triple was opened so far. */
async function opens(stand: FaultStand): Promise<number> {
  const source = await stand.triple.source();
  const [row] = await stand.triple.agents.query(source, "viewer", "SELECT COUNT(*) AS n FROM ha.epoch");
  return Number(row?.["n"] ?? 0);
}

async function storm(
  stand: FaultStand,
  stormMs: number,
  planned: readonly Planned[],
  tell: (line: string) => void,
): Promise<void> {
  const end = new AbortController();
  const strikes = planned.map(async ({ mishap, atMs, forMs, inRecovery, random }) => {
    await sleep(atMs);
    if (inRecovery) await untilRecovery(stand);
    tell(mishap.name);
    try {
      await mishap.strike({ stand, random, forMs, end: end.signal, tell });
    } catch (error) {
      // Another mishap took away what this one needed; the round goes on.
      tell(`${mishap.name}: ${(error as Error).message.split("\n")[0] ?? ""}`);
    }
  });
  await sleep(stormMs);
  // What is meant to last longer than the storm does: a mishap ends it by itself, or the round after twice the time.
  const over = setTimeout(() => end.abort(), stormMs);
  await Promise.all(strikes);
  clearTimeout(over);
}

/** Until a recovery is under way, by the record; at most a little while. */
async function untilRecovery(stand: FaultStand): Promise<void> {
  const untilMs = monotonicMs() + RECOVERY_MAX_MS;
  while (monotonicMs() < untilMs) {
    const record = await stand.triple.record().catch(() => null);
    if (record !== null && record.phase !== "IDLE") return;
    await sleep(POLL_MS);
  }
}
