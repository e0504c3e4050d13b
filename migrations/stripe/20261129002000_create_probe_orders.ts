// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE probe_orders (
      probe_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      checker VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      state ENUM('OPEN','CLOSED') NOT NULL,
      version SMALLINT UNSIGNED NOT NULL,
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      KEY by_age (create_time)
    ) ENGINE=InnoDB COMMENT='orders of the health checkers, minutes old at most; no part of the data of the stripe, never journaled or moved'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE probe_orders");
}
