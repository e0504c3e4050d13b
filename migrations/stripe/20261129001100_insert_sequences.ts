// Rows every stripe needs: older code runs beside them.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw("INSERT INTO sequences (name, next_value) VALUES ('orders', 1), ('refunds', 1)");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DELETE FROM sequences WHERE name IN ('orders', 'refunds')");
}
