import type { MysqlTarget } from "../../runtime/mysql.ts";
import { connect } from "../../runtime/mysql.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/** Writes the one row of `stripe_state` of a new stripe; a row that exists is left as it is. */
export async function insertStripeState(database: MysqlTarget, place: number, tripleId: string): Promise<void> {
  const connection = await connect(database, CONNECT_TIMEOUT_MS);
  try {
    await connection.query(
      "INSERT IGNORE INTO stripe_state (id, place, triple_id, role, accepts_creates, accepts_writes) VALUES (1, ?, ?, 'PLACE', 1, 1)",
      [place, tripleId],
    );
  } finally {
    await connection.end();
  }
}
