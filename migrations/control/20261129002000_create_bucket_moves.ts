// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE bucket_moves (
      move_epoch BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'fencing number of the move in both stripes',
      partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      bucket SMALLINT UNSIGNED NOT NULL,
      from_stripe SMALLINT UNSIGNED NOT NULL,
      to_stripe SMALLINT UNSIGNED NOT NULL,
      state ENUM('OPEN','DONE') NOT NULL,
      open_bucket SMALLINT UNSIGNED GENERATED ALWAYS AS (IF(state = 'OPEN', bucket, NULL)) VIRTUAL COMMENT 'at most one open move of a bucket',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      finish_time DATETIME(3) NULL COMMENT 'UTC',
      UNIQUE KEY one_open (partition_name, open_bucket)
    ) ENGINE=InnoDB COMMENT='moves of buckets from one home to another'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE bucket_moves");
}
