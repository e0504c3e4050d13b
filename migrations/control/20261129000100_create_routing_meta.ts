// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE routing_meta (
      id TINYINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'always 1',
      version BIGINT UNSIGNED NOT NULL COMMENT 'of the whole routing table; grows with every change',
      CONSTRAINT routing_meta_one_row CHECK (id = 1)
    ) ENGINE=InnoDB COMMENT='version of the routing table'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE routing_meta");
}
