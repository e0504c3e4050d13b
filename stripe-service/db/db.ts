import type { PoolConnection } from "../../runtime/mysql.ts";

/**
 * What a SQL operation needs of a connection. `execute` (prepared once a session) for what runs in every request:
 * parsing the fence's join costs the server a third of it; `query` for the rest, and for all that reads times: the
 * prepared protocol leaves out a fraction of zero.
 */
export type Db = Pick<PoolConnection, "query" | "execute">;
