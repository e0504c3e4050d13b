import type { PoolConnection } from "../../runtime/mysql.ts";

/**
 * What a SQL operation needs of a connection. `execute` (prepared once a session) for what runs in every request:
 * parsing the fence's join costs the server a third of it; `query` for the rest, and for all that reads times: the
 * prepared protocol leaves out a fraction of zero.
 */
export type Db = Pick<PoolConnection, "query" | "execute">;

/**
 * Text of merchants, for `CONVERT(UNHEX(?) USING utf8mb4)`. Statements are kept ASCII: while one runs that holds a
 * character beyond the basic plane, or bytes, every SELECT from information_schema.processlist fails (error 3854), and
 * those who fence a server read that.
 */
export function hexText(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : Buffer.from(text, "utf8").toString("hex");
}

/**
 * Money as a parameter of a prepared statement. The driver sends numbers as doubles there; no amount passes through one.
 */
export function exact(minorUnits: number): string {
  return String(minorUnits);
}
