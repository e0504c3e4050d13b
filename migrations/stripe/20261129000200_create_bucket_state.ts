// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE bucket_state (
      bucket SMALLINT UNSIGNED NOT NULL PRIMARY KEY COMMENT '0..1023',
      role ENUM('HOME','IMPORTING','MOVED') NOT NULL COMMENT 'no row = not home',
      move_epoch BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'fencing number of the bucket move'
    ) ENGINE=InnoDB COMMENT='which buckets this stripe is home to'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE bucket_state");
}
