// New table: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE stripe_state (
      id TINYINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'always 1',
      place INT UNSIGNED NOT NULL COMMENT 'number of this copy of the stripe, in the schema name too',
      triple_id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'must equal ha.identity of the triple that serves it',
      role ENUM('PLACE','LEAVING','MOVED','IMPORTING','ABORTED','RESTORED') NOT NULL COMMENT 'only PLACE takes writes and primary reads',
      move_epoch BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'fencing number of moves; never falls',
      moving TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT '1 while a structural task holds the stripe',
      accepts_creates TINYINT UNSIGNED NOT NULL COMMENT 'new orders are taken',
      accepts_writes TINYINT UNSIGNED NOT NULL COMMENT 'pay, close, refund are taken',
      routing_version BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'table version that last changed this row; never falls',
      moved_to VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'schema of the next place, once MOVED',
      CONSTRAINT stripe_state_one_row CHECK (id = 1)
    ) ENGINE=InnoDB COMMENT='what this stripe accepts; read FOR SHARE in every write transaction'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE stripe_state");
}
