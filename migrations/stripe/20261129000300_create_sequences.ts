// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE sequences (
      name VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY COMMENT 'orders or refunds',
      next_value BIGINT UNSIGNED NOT NULL COMMENT 'first number that is not leased yet'
    ) ENGINE=InnoDB COMMENT='blocks of sequence numbers are leased from here'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE sequences");
}
