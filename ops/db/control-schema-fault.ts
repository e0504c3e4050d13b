import type { Knex } from "knex";
import { CONTROL_SCHEMA_REQUIRED, schemaFault } from "../../core/schema-versions.ts";

/** Why this code cannot work with the control database found, or null when it can. */
export async function controlSchemaFault(control: Knex): Promise<string | null> {
  const exists = await control.schema.hasTable("knex_migrations");
  const applied = exists ? await control<{ name: string }>("knex_migrations").pluck("name") : [];
  return schemaFault(applied as string[], CONTROL_SCHEMA_REQUIRED);
}
