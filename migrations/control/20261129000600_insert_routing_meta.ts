// The one row every routing table needs: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw("INSERT INTO routing_meta (id, version) VALUES (1, 1)");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DELETE FROM routing_meta WHERE id = 1");
}
