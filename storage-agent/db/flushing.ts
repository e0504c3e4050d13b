// A replica may commit without forcing each transaction to disk (its relay log is forced, and a crash of mysqld alone
// loses nothing); a source may not.
import type { Session } from "./session.ts";

const FORCE_TIMEOUT_MS = 30_000;

export async function setRelaxed(session: Session): Promise<void> {
  await session.query("SET GLOBAL sync_binlog = 0");
  await session.query("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
}

export async function setDurable(session: Session): Promise<void> {
  await session.query("SET GLOBAL sync_binlog = 1");
  await session.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
}

/** Forces what was committed under relaxed settings to disk. LOCAL: a flush must not become a transaction of its own. */
export async function forceToDisk(session: Session): Promise<void> {
  await session.query("FLUSH LOCAL BINARY LOGS", [], FORCE_TIMEOUT_MS);
  await session.query("FLUSH LOCAL ENGINE LOGS", [], FORCE_TIMEOUT_MS);
}
