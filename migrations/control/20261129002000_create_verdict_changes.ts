// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE verdict_changes (
      id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
      create_time DATETIME(3) NOT NULL COMMENT 'UTC',
      stripe SMALLINT UNSIGNED NOT NULL,
      checker VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'instance whose verdict changed',
      verdict_before ENUM('unknown','healthy','degraded','unhealthy') NOT NULL,
      verdict_after ENUM('unknown','healthy','degraded','unhealthy') NOT NULL,
      reason VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      latency_us INT UNSIGNED NULL COMMENT 'median of the probes of the last seconds',
      success_permille SMALLINT UNSIGNED NULL COMMENT 'of the probes of the last seconds',
      KEY by_stripe (stripe, id)
    ) ENGINE=InnoDB COMMENT='history of what the health checkers say of the stripes; purged by number'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE verdict_changes");
}
