// How a session is set up, and how a transaction is given up.
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

const SQL_MODE = "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/**
 * Settings of every session. `sql_mode` is set too: the driver escapes values with backslashes.
 * @param autocommit off for write transactions: the first statement begins one, and a lost session leaves nothing
 * @param lockWaitS seconds to wait for a row lock, at least 1
 */
export async function setUpSession(db: Db, autocommit: boolean, lockWaitS: number): Promise<void> {
  await db.query(
    `SET SESSION autocommit = ?, transaction_isolation = 'READ-COMMITTED', time_zone = '+00:00',
       innodb_lock_wait_timeout = ?, sql_mode = ?`,
    [autocommit ? 1 : 0, lockWaitS, SQL_MODE],
  );
}

interface OpenRow extends RowDataPacket {
  readonly read_only: number;
  readonly server_uuid: string;
  readonly epoch_uuid: string | null;
  readonly opened_in_this_life: number | null;
}

/**
 * Whether the server is open under its epoch: writable, and the newest epoch row is its own, written since it started.
 * That row is visible only once a replica has it, and with it all that the server's binary log held before: a source
 * that crashed and came back shows rows that no replica has, and they may yet vanish.
 */
export async function readServerIsOpen(db: Db): Promise<boolean> {
  const [[row]] = await db.query<OpenRow[]>(
    `SELECT @@GLOBAL.read_only AS read_only, @@server_uuid AS server_uuid, e.server_uuid AS epoch_uuid,
            e.opened_at >= UTC_TIMESTAMP(6) - INTERVAL (up.VARIABLE_VALUE + 1) SECOND AS opened_in_this_life
       FROM performance_schema.global_status up
       LEFT JOIN (SELECT server_uuid, opened_at FROM ha.epoch ORDER BY epoch DESC LIMIT 1) e ON TRUE
      WHERE up.VARIABLE_NAME = 'Uptime'`,
  );
  return (
    row !== undefined && row.read_only === 0 && row.epoch_uuid === row.server_uuid && row.opened_in_this_life === 1
  );
}

export async function rollback(db: Db): Promise<void> {
  await db.query("ROLLBACK");
}
