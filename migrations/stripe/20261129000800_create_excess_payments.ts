// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE excess_payments (
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_pay_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      reason ENUM('DUPLICATE','LATE','SUPERSEDED') NOT NULL,
      total BIGINT UNSIGNED NOT NULL COMMENT 'minor units',
      currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      payer_openid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'personal data: never logged',
      channel VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
      channel_transaction_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
      success_time DATETIME(3) NULL COMMENT 'UTC',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      PRIMARY KEY (transaction_id, out_pay_no)
    ) ENGINE=InnoDB COMMENT='money that moved in the channel without an order to pay; must be given back'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE excess_payments");
}
