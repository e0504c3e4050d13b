// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE triples (
      triple_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      stripe SMALLINT UNSIGNED NOT NULL,
      epoch BIGINT UNSIGNED NOT NULL COMMENT 'fencing number of every command to an agent; only grows',
      phase VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'IDLE, REVOKE, PROMOTE, NARROW',
      src VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'a server that holds every acknowledged write',
      tenure BIGINT UNSIGNED NOT NULL COMMENT 'epoch at which src was first recorded; 0 = never opened',
      ack_set JSON NOT NULL COMMENT 'every server that can acknowledge; covers every acknowledged write',
      owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that leads the triple',
      lease_until DATETIME(6) NOT NULL COMMENT 'UTC, by the clock of this database',
      victim VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'the member that NARROW drops',
      u MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'GTID set that the last candidate had to contain; audit only',
      version BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'grows with every compare-and-set',
      CONSTRAINT triples_phase CHECK (phase IN ('IDLE', 'REVOKE', 'PROMOTE', 'NARROW'))
    ) ENGINE=InnoDB COMMENT='who leads each triple and what is known of it; changed by compare-and-set only'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE triples");
}
