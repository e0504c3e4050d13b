// New column with a default: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE stripe_state ADD COLUMN partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL
      COMMENT 'whose merchants are served; NULL = not told yet, then any', ALGORITHM=INSTANT
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE stripe_state DROP COLUMN partition_name");
}
