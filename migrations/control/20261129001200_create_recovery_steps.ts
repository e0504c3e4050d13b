// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE recovery_steps (
      id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
      recovery_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'controller process that took the step',
      epoch BIGINT UNSIGNED NOT NULL,
      step VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'a compare-and-set or a command',
      server VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
      outcome VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'OK, or the code of the refusal',
      took_ms INT UNSIGNED NOT NULL,
      detail VARCHAR(1000) NULL,
      step_time DATETIME(3) NOT NULL COMMENT 'UTC, end of the step by the clock of the controller',
      KEY by_recovery (recovery_id, id)
    ) ENGINE=InnoDB COMMENT='what each recovery did, step by step'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE recovery_steps");
}
