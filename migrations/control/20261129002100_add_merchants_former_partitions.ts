// New column with a default: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE merchants ADD COLUMN former_partitions JSON NULL
      COMMENT 'array of partitions that may hold numbers of the merchant, the newest first', ALGORITHM=INSTANT
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE merchants DROP COLUMN former_partitions");
}
