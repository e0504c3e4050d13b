import type { Sql } from "./control-db.ts";
import { RECORD_COLUMNS, storedRecord, type StoredRecord, type TripleRow } from "./tables.ts";

/** The record as last committed at this server, or null without a row. For people and for standing by. */
export async function readRecord(sql: Sql, tripleId: string): Promise<StoredRecord | null> {
  const [rows] = await sql.query<TripleRow[]>(`SELECT ${RECORD_COLUMNS} FROM triples WHERE triple_id = ?`, [tripleId]);
  return rows[0] === undefined ? null : storedRecord(rows[0]);
}

/** The record behind everything already sent: waits for other writers of the row, so a group's stale reader is no risk. */
export async function lockRecord(sql: Sql, tripleId: string): Promise<StoredRecord | null> {
  const [rows] = await sql.query<TripleRow[]>(`SELECT ${RECORD_COLUMNS} FROM triples WHERE triple_id = ? FOR UPDATE`, [
    tripleId,
  ]);
  return rows[0] === undefined ? null : storedRecord(rows[0]);
}
