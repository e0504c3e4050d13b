// What must hold when a round has settled: of the rows written straight at the database, of the servers' turns, and of
// the audit.
import { setOf } from "../../../health-checker/failover/snapshot.ts";
import { isSubset, parseGtidSet } from "../../../health-checker/failover/gtid-set.ts";
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { type RecoveryRow, TABLE } from "../../support/failover-triple.ts";
import type { LedgerLoad } from "../../support/ledger-load.ts";
import { NAMES } from "../../support/linked-triple.ts";
import type { FaultStand } from "./stand.ts";
import { turnsTaken } from "./turns.ts";

const EQUAL_MAX_MS = 20_000;
const POLL_MS = 50;
const SHOWN_MAX = 5;

/**
 * Every acknowledged row is there, no refused one, none of a replica's own; the three servers hold the same.
 * @param from the first id of the round
 */
export async function ledgerBroken(stand: FaultStand, load: LedgerLoad, from: number): Promise<string[]> {
  const { triple } = stand;
  const source = await triple.source();
  const broken: string[] = [];
  const ids = await triple.ledger(source, from);
  const lost = [...load.acked].filter((id) => !ids.has(id));
  const risen = [...load.refused].filter((id) => ids.has(id));
  const own = await triple.agents.query(source, "viewer", `SELECT id FROM ${TABLE} WHERE id < 0`);
  if (lost.length > 0) broken.push(`${lost.length} acknowledged rows are lost: ${some(lost)}`);
  if (risen.length > 0) broken.push(`${risen.length} refused rows are there: ${some(risen)}`);
  if (own.length > 0) broken.push(`rows that no source took are there: ${own.length}`);
  broken.push(...(await unequalSets(stand, source)));
  for (const name of NAMES) {
    const here = await triple.ledger(name, from);
    const same = here.size === ids.size && [...ids].every((id) => here.has(id));
    if (!same) broken.push(`${name} has ${here.size} rows, ${source} ${ids.size}`);
  }
  return broken;
}

/** GTID sets: the beat goes on, so a replica holds what the source held, and nothing that it does not. */
async function unequalSets(stand: FaultStand, source: string): Promise<string[]> {
  const { agents } = stand.triple;
  const sets = async (name: string): Promise<string> => (await agents.observe(name)).mysql?.executed ?? "";
  const base = parseGtidSet(await sets(source));
  const broken: string[] = [];
  for (const name of NAMES) {
    const deadline = new Deadline(EQUAL_MAX_MS);
    while (!isSubset(base, parseGtidSet(await sets(name)))) {
      if (deadline.passed) {
        broken.push(`${name} does not hold what ${source} held`);
        break;
      }
      await sleep(POLL_MS);
    }
    const { mysql } = await agents.observe(name);
    const held = mysql === null ? parseGtidSet("") : setOf(mysql);
    // What an agent tells may be a moment old, and a write may be on its way to its acknowledgement.
    while (!isSubset(held, parseGtidSet(await sets(source)))) {
      if (deadline.passed) {
        broken.push(`${name} holds what ${source} does not`);
        break;
      }
      await sleep(POLL_MS);
    }
  }
  return broken;
}

/** @param opened how often a server was opened in the round */
export async function brokenTurns(
  stand: FaultStand,
  load: LedgerLoad,
  from: number,
  opened: number,
): Promise<string[]> {
  const source = await stand.triple.source();
  const sql = `SELECT id, server FROM ${TABLE} WHERE id >= ${from}`;
  const rows = await stand.triple.agents.query(source, "viewer", sql);
  const servers = new Map(rows.map((row) => [Number(row["id"]), String(row["server"])]));
  const turns = turnsTaken(load.ackedWrites.map((write) => ({ ...write, server: servers.get(write.id) ?? "nobody" })));
  return turns <= opened ? [] : [`the acknowledging server changed ${turns} times, opened were ${opened}`];
}

/** @param moves whether anything in the round may have changed the source, or closed it */
export async function brokenAudit(
  stand: FaultStand,
  recoveries: readonly RecoveryRow[],
  moves: boolean,
): Promise<string[]> {
  const broken: string[] = [];
  const told = (row: RecoveryRow): string => `${row.kind} (${row.problem}) ${row.outcome ?? "unfinished"}`;
  const open = recoveries.filter(({ outcome }) => outcome === null);
  if (open.length > 0) broken.push(`recoveries without an end: ${open.map(told).join(", ")}`);
  const leads = recoveries.filter(({ kind }) => kind === "LEAD" || kind === "SWITCHOVER");
  if (!moves && leads.length > 0) broken.push(`nothing asked for ${leads.map(told).join(", ")}`);
  const last = leads.findLast(({ outcome }) => outcome === "DONE");
  const source = await stand.triple.source();
  if (last !== undefined && last.src_after !== source) broken.push(`${source} leads, the audit says ${last.src_after}`);
  if (leads.length === 0 && recoveries.some(({ src_before }) => src_before !== source))
    broken.push(`the source changed to ${source} and the audit does not say how`);
  for (const { name } of stand.triple.controllers.values()) {
    if (/ASSERTION/.test(stand.triple.controllerLog(name))) broken.push(`${name} has seen an assertion fail`);
  }
  return broken;
}

function some(ids: readonly number[]): string {
  return ids.slice(0, SHOWN_MAX).join(", ");
}

/** At the end of all rounds: nothing that was acknowledged in any of them has gone since. */
export async function lostSince(stand: FaultStand, acked: ReadonlySet<number>): Promise<number[]> {
  const ids = await stand.triple.ledger(await stand.triple.source());
  return [...acked].filter((id) => !ids.has(id));
}
