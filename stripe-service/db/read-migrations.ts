import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

interface MigrationRow extends RowDataPacket {
  readonly name: string;
}

const NO_SUCH_TABLE = 1146;

/** Names of the migrations that the schema has seen; none when it has never been migrated. */
export async function readMigrations(db: Db): Promise<string[]> {
  try {
    const [rows] = await db.query<MigrationRow[]>("SELECT name FROM knex_migrations ORDER BY id");
    return rows.map((row) => row.name);
  } catch (error) {
    if ((error as { errno?: number }).errno === NO_SUCH_TABLE) return [];
    throw error;
  }
}
