// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE order_events (
      seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'allocated after stripe_state was read FOR SHARE',
      transaction_id CHAR(28) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'NULL when the change is of index, handoff, sequence or stripe alone',
      mchid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
      out_trade_no VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
      event_type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      version INT UNSIGNED NULL COMMENT 'of the order after the change',
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      data JSON NOT NULL COMMENT 'facts of the event; never personal data',
      KEY history (transaction_id, seq)
    ) ENGINE=InnoDB COMMENT='journal and transactional outbox in one; append only'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE order_events");
}
