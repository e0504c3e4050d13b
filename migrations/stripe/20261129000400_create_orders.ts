// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE orders (
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      mchid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_trade_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      description VARCHAR(127) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL,
      attach VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NULL,
      payer_openid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'personal data: never logged',
      notify_url VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NULL,
      total BIGINT UNSIGNED NOT NULL COMMENT 'minor units',
      currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217',
      refunded BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'minor units, refunds that succeeded',
      refunding BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'minor units, reserved by refunds without a final result',
      refund_count SMALLINT UNSIGNED NOT NULL DEFAULT 0,
      trade_state ENUM('NOTPAY','SUCCESS','REFUND','CLOSED') NOT NULL,
      close_reason ENUM('MERCHANT','EXPIRED','ADMIN','DUPLICATE') NULL,
      superseded_by CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'the order that stands for this merchant number; set once',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      time_expire DATETIME(3) NOT NULL COMMENT 'UTC; never changed',
      time_expire_given TINYINT UNSIGNED NOT NULL COMMENT '1 when the merchant named it, 0 when it is the default',
      success_time DATETIME(3) NULL COMMENT 'UTC, of the payment',
      close_time DATETIME(3) NULL COMMENT 'UTC',
      out_pay_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
      version INT UNSIGNED NOT NULL COMMENT 'grows by one at every committed change',
      KEY expiry (trade_state, time_expire),
      CONSTRAINT orders_not_over_refunded CHECK (refunded + refunding <= total)
    ) ENGINE=InnoDB COMMENT='one row an order'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE orders");
}
