import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Sql } from "./control-db.ts";
import type { RecoveryKind, RecoveryOutcome } from "./tables.ts";

interface RecoveryRow extends RowDataPacket {
  readonly recovery_id: string;
  readonly kind: RecoveryKind;
  readonly problem: string;
  readonly epoch: number;
  readonly src_before: string;
  readonly src_after: string | null;
  readonly victim: string | null;
  readonly outcome: RecoveryOutcome | null;
  readonly detail: string | null;
  readonly start_time: string;
  readonly finish_time: string | null;
}

/** The newest recoveries of a triple, newest first. */
export async function recentRecoveries(sql: Sql, tripleId: string, limit: number): Promise<readonly RecoveryRow[]> {
  const [rows] = await sql.query<RecoveryRow[]>(
    `SELECT recovery_id, kind, problem, epoch, src_before, src_after, victim, outcome, detail, start_time, finish_time
       FROM recoveries WHERE triple_id = ? ORDER BY start_time DESC, epoch DESC LIMIT ?`,
    [tripleId, limit],
  );
  return rows;
}

/**
 * The recovery of a triple that was left unfinished, so that whoever goes on with it writes into the same row; null
 * when there is none.
 */
export async function unfinishedRecovery(
  sql: Sql,
  tripleId: string,
): Promise<{ readonly recoveryId: string; readonly kind: RecoveryKind } | null> {
  const [rows] = await sql.query<RecoveryRow[]>(
    `SELECT recovery_id, kind FROM recoveries
      WHERE triple_id = ? AND finish_time IS NULL ORDER BY start_time DESC, epoch DESC LIMIT 1`,
    [tripleId],
  );
  return rows[0] === undefined ? null : { recoveryId: rows[0].recovery_id, kind: rows[0].kind };
}

/**
 * Ends the rows of recoveries whose controller went away before it could: with the record IDLE, those that changed the
 * source are done, the others were left half-way and are begun anew when they are still needed.
 * @param goesOn the one that the record's phase belongs to: it is carried on, and whatever else is open gave way to it
 */
export async function closeAbandonedRecoveries(
  sql: Sql,
  tripleId: string,
  src: string,
  goesOn: string | null,
): Promise<void> {
  await sql.query(
    `UPDATE recoveries
        SET outcome = IF(? OR kind IN ('REJOIN', 'REBUILD', 'NARROW'), 'FAILED', 'DONE'), src_after = ?,
            detail = 'its controller went away', finish_time = UTC_TIMESTAMP(3)
      WHERE triple_id = ? AND finish_time IS NULL AND recovery_id <> ?`,
    [goesOn !== null, src, tripleId, goesOn ?? ""],
  );
}
