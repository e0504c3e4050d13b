// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE merchants (
      mchid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      create_policy ENUM('jump','strict') NOT NULL,
      update_time DATETIME(3) NOT NULL COMMENT 'UTC'
    ) ENGINE=InnoDB COMMENT='merchants that differ from the defaults'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE merchants");
}
