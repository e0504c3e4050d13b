import { HANDOFF_STATES, type HandoffState } from "../../core/order-states.ts";
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow } from "./tables.ts";

export interface StatsRow extends FenceRow {
  readonly home_buckets: number;
  readonly pending: number;
  readonly claimed: number;
  readonly done: number;
  /** Orders of the last minute, {@link COUNTED_MAX} at most. */
  readonly recent: number;
  /** How old those are, on average. */
  readonly recent_mean_age_us: number | null;
  readonly oldest: string | null;
  readonly newest: string | null;
}

/**
 * Nothing is counted further: whoever looks at a busy stripe must not cost it a scan of what it has just written, nor
 * of all that ever jumped there.
 */
export const COUNTED_MAX = 10_000;

/**
 * Figures for operators, from indexes alone. Order numbers grow with their time of minting, so the primary key finds
 * the orders of the last minute, the oldest and the newest. Counts end at {@link COUNTED_MAX}.
 * @param numberPrefix what all order numbers of this stripe begin with, up to the time
 */
export async function readStats(db: Db, numberPrefix: string): Promise<StatsRow[]> {
  const [rows] = await db.query<(StatsRow & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role,
            (SELECT COUNT(*) FROM bucket_state WHERE role = 'HOME') AS home_buckets,
            ${HANDOFF_STATES.map((state) => `${countedHandoffs(state)} AS ${state.toLowerCase()}`).join(", ")},
            recent.n AS recent, CAST(recent.age AS DOUBLE) AS recent_mean_age_us,
            (SELECT create_time FROM orders ORDER BY transaction_id LIMIT 1) AS oldest,
            (SELECT create_time FROM orders ORDER BY transaction_id DESC LIMIT 1) AS newest
       FROM stripe_state s JOIN ha.identity i
       JOIN (SELECT COUNT(*) AS n, AVG(TIMESTAMPDIFF(MICROSECOND, create_time, UTC_TIMESTAMP(6))) AS age
               FROM (SELECT create_time FROM orders WHERE transaction_id >=
                       CONCAT(?, DATE_FORMAT(UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '%y%m%d%H%i%s'))
                      ORDER BY transaction_id DESC LIMIT ${COUNTED_MAX}) newest) recent
      WHERE s.id = 1`,
    [numberPrefix],
  );
  return rows;
}

function countedHandoffs(state: HandoffState): string {
  return `(SELECT COUNT(*) FROM (SELECT 1 FROM handoffs WHERE state = '${state}' LIMIT ${COUNTED_MAX}) counted)`;
}
