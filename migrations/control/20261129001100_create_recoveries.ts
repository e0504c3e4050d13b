// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE recoveries (
      recovery_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      triple_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      stripe SMALLINT UNSIGNED NOT NULL,
      kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LEAD, SWITCHOVER, REJOIN, REBUILD, NARROW, ABORT, BIRTH',
      problem VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'code of the problem table',
      owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that began it',
      epoch BIGINT UNSIGNED NOT NULL COMMENT 'at its beginning',
      src_before VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      src_after VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'null while it runs',
      victim VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'server that is rejoined, rebuilt or dropped',
      outcome VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'DONE, BLOCKED, FAILED, UNDONE; null while it runs',
      detail VARCHAR(1000) NULL,
      start_time DATETIME(3) NOT NULL COMMENT 'UTC, by the clock of this database',
      finish_time DATETIME(3) NULL COMMENT 'UTC',
      KEY by_triple (triple_id, start_time)
    ) ENGINE=InnoDB COMMENT='every recovery, with what it was for and how it ended; no decision reads it'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE recoveries");
}
