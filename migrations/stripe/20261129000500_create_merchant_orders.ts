// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE merchant_orders (
      bucket SMALLINT UNSIGNED NOT NULL COMMENT 'a function of mchid and out_trade_no, first in the key so that a bucket is one range',
      mchid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_trade_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the pointer; may name an order on another stripe',
      request_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of the content of the create',
      PRIMARY KEY (bucket, mchid, out_trade_no)
    ) ENGINE=InnoDB COMMENT='index by merchant number; makes create idempotent for ever'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE merchant_orders");
}
