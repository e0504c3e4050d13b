// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE refunds (
      refund_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      out_refund_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      refund BIGINT UNSIGNED NOT NULL COMMENT 'minor units',
      reason VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NULL,
      status ENUM('PROCESSING','SUCCESS','CLOSED','ABNORMAL') NOT NULL,
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      success_time DATETIME(3) NULL COMMENT 'UTC',
      version INT UNSIGNED NOT NULL,
      UNIQUE KEY refund_no (transaction_id, out_refund_no)
    ) ENGINE=InnoDB COMMENT='refunds of the orders of this stripe; never deleted'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE refunds");
}
