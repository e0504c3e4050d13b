// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE stripes (
      stripe SMALLINT UNSIGNED NOT NULL PRIMARY KEY COMMENT '1..9999, never reused',
      version BIGINT UNSIGNED NOT NULL COMMENT 'of this row; the ETag of the ops API',
      place INT UNSIGNED NOT NULL COMMENT 'which copy of the stripe is served',
      triple_id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      temperature ENUM('hot','warm','cold') NOT NULL,
      weight SMALLINT UNSIGNED NOT NULL COMMENT '0..1000, share of new orders',
      partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      blocked TINYINT UNSIGNED NOT NULL COMMENT '1: proxies send no creates, by hand',
      services JSON NOT NULL COMMENT 'base URLs of the stripe service instances',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      update_time DATETIME(3) NOT NULL COMMENT 'UTC'
    ) ENGINE=InnoDB COMMENT='one row a stripe'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE stripes");
}
