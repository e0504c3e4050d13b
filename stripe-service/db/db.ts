import type { PoolConnection } from "../../runtime/mysql.ts";

/** What a SQL operation needs of a connection. */
export type Db = Pick<PoolConnection, "query">;
