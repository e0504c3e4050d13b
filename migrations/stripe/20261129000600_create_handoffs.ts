// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE handoffs (
      mchid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_trade_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      bucket SMALLINT UNSIGNED NOT NULL,
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the order that jumped here',
      request_hash BINARY(32) NOT NULL,
      failed VARCHAR(96) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'numbers of the same request whose outcome is unknown, comma separated; immutable',
      state ENUM('PENDING','CLAIMED','DONE') NOT NULL,
      tries INT UNSIGNED NOT NULL DEFAULT 0,
      next_try DATETIME(3) NOT NULL COMMENT 'UTC',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      PRIMARY KEY (mchid, out_trade_no),
      KEY due (state, next_try)
    ) ENGINE=InnoDB COMMENT='orders that jumped here, until their home knows'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE handoffs");
}
