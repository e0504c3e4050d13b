import type { connect, RowDataPacket } from "../../mysql.ts";

/** Version of the whole routing table. @throws Error also when the row is missing */
export async function readRoutingVersion(
  connection: Awaited<ReturnType<typeof connect>>,
  timeoutMs: number,
): Promise<number> {
  const [[row]] = await connection.query<(RowDataPacket & { version: number })[]>({
    sql: "SELECT version FROM routing_meta WHERE id = 1",
    timeout: timeoutMs,
  });
  if (row === undefined) throw new Error("routing_meta has no row");
  return Number(row.version);
}
