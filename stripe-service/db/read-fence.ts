import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { integerLiteral } from "./literals.ts";
import type { FenceRow } from "./tables.ts";

export type FenceLock = "SHARE" | "UPDATE" | "NONE";

/** The columns of {@link FenceRow} but the bucket's, for aliases `s` (stripe_state) and `i` (ha.identity). */
export const FENCE_COLUMNS =
  "s.place, s.role, s.triple_id, i.triple_id AS identity, s.accepts_creates, s.accepts_writes, s.routing_version, s.partition_name AS stripe_partition, " +
  "(SELECT TIMESTAMPDIFF(MICROSECOND, at, UTC_TIMESTAMP(6)) FROM ha.beat WHERE ha.beat.id = 1) AS beat_age_us, " +
  "@@GLOBAL.read_only AS read_only, CAST(UTC_TIMESTAMP(3) AS CHAR) AS now";

const LOCKS: Readonly<Record<FenceLock, { readonly state: string; readonly all: string }>> = {
  SHARE: { state: " FOR SHARE OF s", all: " FOR SHARE OF s, b" },
  UPDATE: { state: " FOR UPDATE OF s", all: " FOR UPDATE OF s" },
  NONE: { state: "", all: "" },
};

function fenceSql(list: string | undefined, lock: FenceLock): string {
  return list === undefined
    ? `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role
         FROM stripe_state s JOIN ha.identity i WHERE s.id = 1${LOCKS[lock].state}`
    : `SELECT ${FENCE_COLUMNS}, b.bucket, b.role AS bucket_role
         FROM stripe_state s JOIN ha.identity i LEFT JOIN bucket_state b ON b.bucket IN (${list})
        WHERE s.id = 1${LOCKS[lock].all}`;
}

/**
 * Reads what the stripe accepts and the role of the given buckets; the first statement of every write transaction
 * (rule J): whoever changes these rows waits for the transactions that hold them.
 * @returns no row when the database has no `stripe_state` or no identity
 */
export async function readFence(db: Db, buckets: readonly number[], lock: FenceLock): Promise<FenceRow[]> {
  // No bucket or one is prepared once a session; longer lists would be a statement for each length.
  if (buckets.length > 1) {
    const [rows] = await db.query<(FenceRow & RowDataPacket)[]>(fenceSql(listOf(buckets), lock));
    return rows;
  }
  const sql = fenceSql(buckets.length === 0 ? undefined : "?", lock);
  const [rows] = await db.execute<(FenceRow & RowDataPacket)[]>(sql, [...buckets]);
  return rows;
}

/**
 * As {@link readFence}, with another statement right behind it in the same round trip.
 * @returns the fence, and what the driver says of the other statement
 */
export async function readFenceAnd(
  db: Db,
  buckets: readonly number[],
  lock: FenceLock,
  next: string,
): Promise<{ readonly rows: FenceRow[]; readonly next: unknown }> {
  const fence = fenceSql(buckets.length === 0 ? undefined : listOf(buckets), lock);
  // Null, not left out: the driver would look through the whole text for placeholders.
  const [results] = await db.query<RowDataPacket[][]>({ sql: `${fence};\n${next}`, values: null });
  return { rows: (results[0] ?? []) as FenceRow[], next: results[1] };
}

function listOf(buckets: readonly number[]): string {
  return buckets.map(integerLiteral).join(", ");
}
