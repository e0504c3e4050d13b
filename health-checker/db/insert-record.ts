import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { TripleRecord } from "../failover/record.ts";
import type { Sql } from "./control-db.ts";

/** Makes the row of a triple, led by its owner. False when another controller was first. */
export async function insertRecord(sql: Sql, record: TripleRecord, ttlMs: number): Promise<boolean> {
  const { tripleId, stripe, epoch, phase, src, tenure, ackSet, owner, version } = record;
  const [result] = await sql.query<ResultSetHeader>(
    `INSERT IGNORE INTO triples (triple_id, stripe, epoch, phase, src, tenure, ack_set, owner, lease_until, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, ?)`,
    [tripleId, stripe, epoch, phase, src, tenure, JSON.stringify(ackSet), owner, ttlMs * 1_000, version],
  );
  return result.affectedRows === 1;
}
