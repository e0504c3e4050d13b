// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE buckets (
      partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      bucket SMALLINT UNSIGNED NOT NULL COMMENT '0..1023',
      stripe SMALLINT UNSIGNED NOT NULL COMMENT 'home',
      PRIMARY KEY (partition_name, bucket)
    ) ENGINE=InnoDB COMMENT='home stripe of each bucket, by partition'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE buckets");
}
