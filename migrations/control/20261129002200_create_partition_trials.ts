// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE partition_trials (
      partition_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY COMMENT 'whose merchants take part',
      to_partition VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'where they are placed',
      permyriad SMALLINT UNSIGNED NOT NULL COMMENT 'share of the merchants, in ten thousandths',
      permyriad_max SMALLINT UNSIGNED NOT NULL COMMENT 'the largest share that there ever was',
      update_time DATETIME(3) NOT NULL COMMENT 'UTC',
      CONSTRAINT partition_trials_share CHECK (permyriad <= permyriad_max AND permyriad_max <= 10000)
    ) ENGINE=InnoDB COMMENT='a share of a partition''s merchants placed in another partition, to try something new'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE partition_trials");
}
