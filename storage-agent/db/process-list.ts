import type { Row, Session } from "./session.ts";

export interface ProcessRow {
  readonly id: number;
  readonly user: string;
  readonly host: string;
  /** E.g. `Query`, `Sleep`, `Binlog Dump GTID`. */
  readonly command: string;
  /** What the thread is doing; empty when it says nothing. */
  readonly state: string;
  /** How long it has been doing that; seconds. */
  readonly timeS: number;
  /** The first hundred characters of the statement that runs; empty when none does. */
  readonly statement: string;
}

/**
 * SHOW, not information_schema: a statement with a four-byte character in flight anywhere makes every SELECT from
 * information_schema.processlist fail (3854); and with performance_schema=OFF the table of that name there is empty.
 */
export const PROCESS_LIST = "SHOW PROCESSLIST";

/** All sessions, this one among them. */
export async function processList(session: Session, timeoutMs?: number): Promise<ProcessRow[]> {
  return processRows(await session.query(PROCESS_LIST, [], timeoutMs));
}

export function processRows(rows: readonly Row[]): ProcessRow[] {
  return rows.map((row) => ({
    id: Number(row["Id"]),
    user: String(row["User"]),
    host: String(row["Host"]),
    command: String(row["Command"]),
    state: typeof row["State"] === "string" ? row["State"] : "",
    timeS: Number(row["Time"] ?? 0),
    statement: typeof row["Info"] === "string" ? row["Info"] : "",
  }));
}
