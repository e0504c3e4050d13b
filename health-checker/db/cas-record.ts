import type { ResultSetHeader } from "../../runtime/mysql.ts";
import { applyChange, type RecordChange, type TripleRecord } from "../failover/record.ts";
import type { Sql } from "./control-db.ts";
import { insertRecovery } from "./insert-recovery.ts";
import type { NewRecovery } from "./tables.ts";

/**
 * Compare-and-set of a triple's record: done only if epoch, phase, owner and version are still `expected`'s.
 * @param begins the recovery that this change begins: its row is written in the same transaction, so that the audit
 *   misses none
 */
export async function casRecord(
  sql: Sql,
  expected: TripleRecord,
  change: RecordChange,
  begins: NewRecovery | null,
): Promise<boolean> {
  if (begins === null) return update(sql, expected, change);
  await sql.beginTransaction();
  const done = await update(sql, expected, change);
  if (done) {
    await insertRecovery(sql, begins);
    await sql.commit();
  } else await sql.rollback();
  return done;
}

async function update(sql: Sql, expected: TripleRecord, change: RecordChange): Promise<boolean> {
  const next = applyChange(expected, change);
  const [result] = await sql.query<ResultSetHeader>(
    `UPDATE triples SET epoch = ?, phase = ?, src = ?, tenure = ?, ack_set = ?, victim = ?, u = ?, version = ?
      WHERE triple_id = ? AND epoch = ? AND phase = ? AND owner = ? AND version = ?`,
    [
      next.epoch,
      next.phase,
      next.src,
      next.tenure,
      JSON.stringify(next.ackSet),
      next.victim,
      next.u,
      next.version,
      expected.tripleId,
      expected.epoch,
      expected.phase,
      expected.owner,
      expected.version,
    ],
  );
  return result.affectedRows === 1;
}
