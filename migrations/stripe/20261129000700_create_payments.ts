// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE payments (
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_pay_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      total BIGINT UNSIGNED NOT NULL COMMENT 'minor units',
      currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      payer_openid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'personal data: never logged',
      channel VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
      channel_transaction_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
      success_time DATETIME(3) NULL COMMENT 'UTC, as the channel gave it; NULL when it gave none',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      PRIMARY KEY (transaction_id)
    ) ENGINE=InnoDB COMMENT='the payment of an order; there is at most one'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE payments");
}
