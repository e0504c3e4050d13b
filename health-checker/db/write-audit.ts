import type { Sql } from "./control-db.ts";
import type { RecoveryEnd, RecoveryStep } from "./tables.ts";

/** Writes steps in their order. */
export async function insertSteps(sql: Sql, steps: readonly RecoveryStep[]): Promise<void> {
  if (steps.length === 0) return;
  await sql.query(
    `INSERT INTO recovery_steps
       (recovery_id, owner, epoch, step, server, outcome, took_ms, detail, step_time) VALUES ?`,
    [steps.map((s) => [s.recoveryId, s.owner, s.epoch, s.step, s.server, s.outcome, s.tookMs, s.detail, s.time])],
  );
}

/** Says how a recovery ended. */
export async function finishRecovery(sql: Sql, end: RecoveryEnd): Promise<void> {
  await sql.query(
    `UPDATE recoveries SET kind = COALESCE(?, kind), outcome = ?, src_after = ?, detail = ?, finish_time = UTC_TIMESTAMP(3)
      WHERE recovery_id = ?`,
    [end.kind, end.outcome, end.srcAfter, end.detail, end.recoveryId],
  );
}
