import type { EventEmitter } from "node:events";
import { mysqlErrno, type PoolConnection } from "../../runtime/mysql.ts";

/** One writing statement, put together from literals. */
export interface WriteStatement {
  readonly sql: string;
  /** Rows that it must change; another number means that something it relied on was not so. Undefined: it inserts. */
  readonly rows?: number;
}

/** A statement before COMMIT was refused, so that COMMIT was not run; `cause` says why. */
export class RefusedBeforeCommit extends Error {
  override readonly name = "RefusedBeforeCommit";
}

/** The driver's own connection: its queries tell of each result as it comes. */
interface Plain {
  query(options: { sql: string; values: null }, done: (error: Error | null) => void): EventEmitter;
}

/** "Invalid JSON text": what a guard fails with. */
const GUARD_ERRNO = 3141;

function guardSql(rows: number): string {
  return `SELECT JSON_LENGTH(IF(ROW_COUNT() = ${rows}, '[]', 'not all rows'))`;
}

/**
 * The last round trip of a transaction: everything that it writes, and COMMIT. The server runs nothing behind a statement
 * that fails, so that COMMIT is run only when all of them did what they must: behind one that may change fewer rows than
 * it must comes a query that fails when it did. Needs a session that takes several statements at once.
 * @throws RefusedBeforeCommit; anything else came after COMMIT was sent and perhaps run
 */
export function writeAndCommit(db: PoolConnection, statements: readonly WriteStatement[]): Promise<void> {
  const before = statements.flatMap(({ sql, rows }) => (rows === undefined ? [sql] : [sql, guardSql(rows)]));
  return new Promise((resolve, reject) => {
    let results = 0;
    const { connection } = db as unknown as { readonly connection: Plain };
    // Null, not left out: the driver would look through the whole text for placeholders.
    const query = connection.query({ sql: [...before, "COMMIT"].join(";\n"), values: null }, (error) => {
      if (error === null) return resolve();
      const errno = mysqlErrno(error);
      const refused = errno !== undefined && (results < before.length || errno === GUARD_ERRNO);
      reject(refused ? new RefusedBeforeCommit("not committed", { cause: error }) : error);
    });
    query.on("fields", () => {
      results += 1;
    });
  });
}
