import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Sql } from "./control-db.ts";

/** Names of the migrations that the control database has. */
export async function appliedMigrations(sql: Sql): Promise<string[]> {
  const [rows] = await sql.query<(RowDataPacket & { name: string })[]>("SELECT name FROM knex_migrations ORDER BY id");
  return rows.map((row) => row.name);
}
