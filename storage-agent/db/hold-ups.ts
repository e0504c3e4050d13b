// What an orderly closing would have to wait for: a schema change that runs, and transactions that have been open for
// long. The statement's text comes from the process list: see there why not from information_schema.
import type { HoldUp } from "../../core/agent-wire.ts";
import { type ProcessRow, processList } from "./process-list.ts";
import type { Session } from "./session.ts";

/** A transaction that is certainly older holds its locks for longer than a switchover may take. */
const LONG_MS = 1_000;
/** `trx_started` is in whole seconds: the age that it amounts to is up to so much too great. */
const STARTED_UNIT_MS = 1_000;
const HOLD_UPS_MAX = 10;
const STATEMENT_CHARS_MAX = 100;
const SCHEMA_CHANGE = /^[\s(]*(?:\/\*.*?\*\/\s*)*(alter|create|drop|rename|truncate|optimize|repair|analyze)\b/i;
const OPEN_SINCE = `SELECT trx_mysql_thread_id AS id,
    TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6)) DIV 1000 - ${STARTED_UNIT_MS} AS ageMs
  FROM information_schema.innodb_trx WHERE trx_mysql_thread_id > 0`;

/** The longest first. @throws MysqldDown, SqlError */
export async function readHoldUps(session: Session): Promise<HoldUp[]> {
  const open = new Map((await session.query(OPEN_SINCE)).map((row) => [Number(row["id"]), Number(row["ageMs"])]));
  return (await processList(session))
    .filter((row) => row.id !== session.id)
    .flatMap((row) => holdUp(row, open.get(row.id)) ?? [])
    .toSorted((a, b) => b.ageMs - a.ageMs)
    .slice(0, HOLD_UPS_MAX);
}

function holdUp(row: ProcessRow, openMs: number | undefined): HoldUp | null {
  const changes = row.command === "Query" && SCHEMA_CHANGE.test(row.statement);
  const long = openMs !== undefined && openMs >= LONG_MS;
  if (!changes && !long) return null;
  return {
    session: row.id,
    user: row.user,
    what: changes ? "schema change" : "transaction",
    ageMs: Math.max(openMs ?? 0, row.command === "Query" ? row.timeS * 1_000 : 0),
    statement: row.statement.replaceAll(/\s+/g, " ").slice(0, STATEMENT_CHARS_MAX),
  };
}
