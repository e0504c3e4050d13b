import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { Sql } from "./control-db.ts";

/**
 * Takes the lead of a triple that nobody leads now. The epoch grows in the same statement, so nothing that the last
 * leader still does can be mistaken for ours.
 */
export async function acquireLease(sql: Sql, tripleId: string, owner: string, ttlMs: number): Promise<boolean> {
  const [result] = await sql.query<ResultSetHeader>(
    `UPDATE triples SET owner = ?, epoch = epoch + 1, version = version + 1,
            lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
      WHERE triple_id = ? AND owner <> ? AND lease_until < UTC_TIMESTAMP(6)`,
    [owner, ttlMs * 1_000, tripleId, owner],
  );
  return result.affectedRows === 1;
}

/** Renews, however late, as long as nobody else has taken the lead. */
export async function renewLease(sql: Sql, tripleId: string, owner: string, ttlMs: number): Promise<boolean> {
  const [result] = await sql.query<ResultSetHeader>(
    `UPDATE triples SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE triple_id = ? AND owner = ?`,
    [ttlMs * 1_000, tripleId, owner],
  );
  return result.affectedRows === 1;
}

/** Lets another controller lead at once. */
export async function releaseLease(sql: Sql, tripleId: string, owner: string): Promise<void> {
  await sql.query(
    `UPDATE triples SET lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND WHERE triple_id = ? AND owner = ?`,
    [tripleId, owner],
  );
}
