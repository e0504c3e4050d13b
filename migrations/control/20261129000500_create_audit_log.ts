// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE audit_log (
      id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      actor VARCHAR(64) NOT NULL COMMENT 'who, as the ops API knows it',
      action VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      subject VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'e.g. stripe/7',
      before_value JSON NULL,
      after_value JSON NULL,
      request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
      KEY by_subject (subject, id)
    ) ENGINE=InnoDB COMMENT='who changed what, when, from what to what'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE audit_log");
}
