import type { RowDataPacket } from "../../runtime/mysql.ts";
import { connect, type MysqlTarget } from "../../runtime/mysql.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/** Buckets that a stripe's own database calls it home to. */
export async function readHomeBuckets(database: MysqlTarget): Promise<number[]> {
  const connection = await connect(database, CONNECT_TIMEOUT_MS);
  try {
    const [rows] = await connection.query<RowDataPacket[]>("SELECT bucket FROM bucket_state WHERE role = 'HOME'");
    return rows.map((row) => Number(row.bucket));
  } finally {
    await connection.end();
  }
}

/** Makes a new stripe home to buckets that no stripe was ever home to. */
export async function insertHomeBuckets(database: MysqlTarget, buckets: readonly number[]): Promise<void> {
  const connection = await connect(database, CONNECT_TIMEOUT_MS);
  try {
    await connection.query("INSERT IGNORE INTO bucket_state (bucket, role, move_epoch) VALUES ?", [
      buckets.map((bucket) => [bucket, "HOME", 0]),
    ]);
  } finally {
    await connection.end();
  }
}
