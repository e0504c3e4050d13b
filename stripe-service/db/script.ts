import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

/** One writing statement, put together from literals, and what it must come to. */
export interface WriteStatement {
  readonly sql: string;
  /** Rows that it must change; another number means that something it relied on was not so. */
  readonly rows: number;
}

/**
 * Runs statements in one round trip; the server stops at the first that fails. Needs a session that takes several
 * statements at once.
 * @throws Error when one changed another number of rows than it must
 */
export async function runScript(db: Db, statements: readonly WriteStatement[]): Promise<void> {
  if (statements.length === 0) return;
  const [result] = await db.query<ResultSetHeader | ResultSetHeader[]>(statements.map(({ sql }) => sql).join(";\n"));
  const headers = Array.isArray(result) ? result : [result];
  for (const [i, { sql, rows }] of statements.entries()) {
    if (headers[i]?.affectedRows === rows) continue;
    throw new Error(`${sql.slice(0, sql.indexOf("(")).trim()}: ${headers[i]?.affectedRows} rows instead of ${rows}`);
  }
}
