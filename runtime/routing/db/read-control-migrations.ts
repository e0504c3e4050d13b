import { type connect, mysqlErrno, type RowDataPacket } from "../../mysql.ts";

const NO_SUCH_TABLE = 1146;

/** Names of the migrations that the control database has; none when it was never migrated. */
export async function readControlMigrations(
  connection: Awaited<ReturnType<typeof connect>>,
  timeoutMs: number,
): Promise<string[]> {
  try {
    const [rows] = await connection.query<(RowDataPacket & { name: string })[]>({
      sql: "SELECT name FROM knex_migrations ORDER BY name",
      timeout: timeoutMs,
    });
    return rows.map(({ name }) => name);
  } catch (error) {
    if (mysqlErrno(error) === NO_SUCH_TABLE) return [];
    throw error;
  }
}
