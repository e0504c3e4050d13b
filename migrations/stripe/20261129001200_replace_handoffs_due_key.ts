// Another secondary key: older code runs beside it.
import type { Knex } from "knex";

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    "ALTER TABLE handoffs DROP KEY due, ADD KEY open_buckets (state, bucket), ALGORITHM=INPLACE, LOCK=NONE",
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    "ALTER TABLE handoffs DROP KEY open_buckets, ADD KEY due (state, next_try), ALGORITHM=INPLACE, LOCK=NONE",
  );
}
