// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE switchover_requests (
      request_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      triple_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      target VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'server that shall lead; null = the controller chooses',
      requested_by VARCHAR(64) NOT NULL,
      request_time DATETIME(3) NOT NULL COMMENT 'UTC, by the clock of this database',
      expire_time DATETIME(3) NOT NULL COMMENT 'UTC; not begun later',
      state VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'WAITING' COMMENT 'WAITING, RUNNING, DONE, REFUSED, UNDONE, EXPIRED',
      detail VARCHAR(1000) NULL COMMENT 'why refused or undone',
      recovery_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
      finish_time DATETIME(3) NULL COMMENT 'UTC',
      KEY by_triple (triple_id, state)
    ) ENGINE=InnoDB COMMENT='switchovers that an operator asks for; the leading controller carries them out'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE switchover_requests");
}
