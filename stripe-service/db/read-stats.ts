import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow } from "./tables.ts";

export interface StatsRow extends FenceRow {
  readonly home_buckets: number;
  readonly pending: number;
  readonly claimed: number;
  readonly done: number;
  readonly creates_last_minute: number;
  readonly oldest: string | null;
  readonly newest: string | null;
}

/**
 * Figures for operators, from indexes alone. Order numbers grow with their time of minting, so the primary key finds
 * the orders of the last minute, the oldest and the newest.
 * @param numberPrefix what all order numbers of this stripe begin with, up to the time
 */
export async function readStats(db: Db, numberPrefix: string): Promise<StatsRow[]> {
  const [rows] = await db.query<(StatsRow & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role,
            (SELECT COUNT(*) FROM bucket_state WHERE role = 'HOME') AS home_buckets,
            (SELECT COUNT(*) FROM handoffs WHERE state = 'PENDING') AS pending,
            (SELECT COUNT(*) FROM handoffs WHERE state = 'CLAIMED') AS claimed,
            (SELECT COUNT(*) FROM handoffs WHERE state = 'DONE') AS done,
            (SELECT COUNT(*) FROM orders WHERE transaction_id >=
               CONCAT(?, DATE_FORMAT(UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '%y%m%d%H%i%s'))) AS creates_last_minute,
            (SELECT create_time FROM orders ORDER BY transaction_id LIMIT 1) AS oldest,
            (SELECT create_time FROM orders ORDER BY transaction_id DESC LIMIT 1) AS newest
       FROM stripe_state s JOIN ha.identity i WHERE s.id = 1`,
    [numberPrefix],
  );
  return rows;
}
