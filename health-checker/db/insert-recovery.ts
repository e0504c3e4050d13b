import type { Sql } from "./control-db.ts";
import type { NewRecovery } from "./tables.ts";

export async function insertRecovery(sql: Sql, recovery: NewRecovery): Promise<void> {
  const { recoveryId, tripleId, stripe, kind, problem, owner, epoch, srcBefore, victim } = recovery;
  await sql.query(
    `INSERT INTO recoveries
       (recovery_id, triple_id, stripe, kind, problem, owner, epoch, src_before, victim, start_time)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3))`,
    [recoveryId, tripleId, stripe, kind, problem, owner, epoch, srcBefore, victim],
  );
}
