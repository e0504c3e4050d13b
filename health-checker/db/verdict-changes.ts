// The history of verdicts: appended, read newest first, bounded by number.
import { fromDbTime } from "../../core/time.ts";
import type { WireVerdictChange } from "../../core/schemas/wire-verdicts.ts";
import type { Verdict } from "../../core/verdicts.ts";
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Sql } from "./control-db.ts";

export interface VerdictChange {
  readonly stripe: number;
  readonly checker: string;
  readonly from: Verdict;
  readonly to: Verdict;
  readonly reason: string;
  readonly latencyMs: number | null;
  /** 0 … 1 */
  readonly successRate: number | null;
  /** How long ago it was, ms; the time is the database's. */
  readonly ageMs: number;
}

const UINT_MAX = 4_294_967_295;

export async function insertVerdictChanges(sql: Sql, changes: readonly VerdictChange[]): Promise<void> {
  const rows = changes.map(() => "(UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  await sql.query(
    `INSERT INTO verdict_changes
       (create_time, stripe, checker, verdict_before, verdict_after, reason, latency_us, success_permille) VALUES ${rows}`,
    changes.flatMap(({ ageMs, stripe, checker, from, to, reason, latencyMs, successRate }) => [
      Math.round(ageMs * 1_000),
      stripe,
      checker,
      from,
      to,
      reason,
      latencyMs === null ? null : Math.min(UINT_MAX, Math.round(latencyMs * 1_000)),
      successRate === null ? null : Math.round(successRate * 1_000),
    ]),
  );
}

interface ChangeRow extends RowDataPacket {
  readonly create_time: string;
  readonly stripe: number;
  readonly checker: string;
  readonly verdict_before: Verdict;
  readonly verdict_after: Verdict;
  readonly reason: string;
  readonly latency_us: number | null;
  readonly success_permille: number | null;
}

/** The newest changes of all checkers, newest first. */
export async function readVerdictChanges(sql: Sql, limit: number): Promise<WireVerdictChange[]> {
  const [rows] = await sql.query<ChangeRow[]>(
    `SELECT create_time, stripe, checker, verdict_before, verdict_after, reason, latency_us, success_permille
       FROM verdict_changes ORDER BY id DESC LIMIT ?`,
    [limit],
  );
  return rows.map((row) => ({
    time: fromDbTime(row.create_time),
    stripe: row.stripe,
    checker: row.checker,
    from: row.verdict_before,
    to: row.verdict_after,
    reason: row.reason,
    latency_ms: row.latency_us === null ? null : row.latency_us / 1_000,
    success_rate: row.success_permille === null ? null : row.success_permille / 1_000,
  }));
}

/** Keeps about the newest `keep` changes; removes at most `limit` of the others. */
export async function purgeVerdictChanges(sql: Sql, keep: number, limit: number): Promise<void> {
  const [[newest]] = await sql.query<(RowDataPacket & { id: number | null })[]>(
    "SELECT MAX(id) AS id FROM verdict_changes",
  );
  const last = newest?.id ?? 0;
  if (last <= keep) return;
  await sql.query("DELETE FROM verdict_changes WHERE id <= ? ORDER BY id LIMIT ?", [last - keep, limit]);
}
