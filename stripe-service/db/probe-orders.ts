// The probe merchant's orders, apart from everybody else's.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { RowLock } from "./order-sets.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import type { FenceRow, Nullable } from "./tables.ts";

export interface ProbeRow {
  readonly probe_id: string;
  readonly state: "OPEN" | "CLOSED";
  readonly version: number;
}

export async function insertProbeOrder(db: Db, probeId: string, checker: string, now: Instant): Promise<void> {
  await db.execute(
    "INSERT INTO probe_orders (probe_id, checker, state, version, create_time) VALUES (?, ?, 'OPEN', 1, ?)",
    [probeId, checker, toDbTime(now)],
  );
}

/** OPEN → CLOSED. @returns whether the row was changed */
export async function markProbeClosed(db: Db, probeId: string): Promise<boolean> {
  const [result] = await db.execute<ResultSetHeader>(
    "UPDATE probe_orders SET state = 'CLOSED', version = version + 1 WHERE probe_id = ? AND state = 'OPEN'",
    [probeId],
  );
  return result.affectedRows === 1;
}

export async function selectProbeOrder(db: Db, probeId: string): Promise<ProbeRow | undefined> {
  const [[row]] = await db.execute<(ProbeRow & RowDataPacket)[]>(
    "SELECT probe_id, state, version FROM probe_orders WHERE probe_id = ?",
    [probeId],
  );
  return row;
}

/** Locks the row. @returns false when it is not there, or, with `SKIP`, in other hands */
export async function lockProbeOrder(db: Db, probeId: string, lock: RowLock): Promise<boolean> {
  const [rows] = await db.query<RowDataPacket[]>(
    `SELECT 1 FROM probe_orders WHERE probe_id = ? FOR UPDATE${lock === "SKIP" ? " SKIP LOCKED" : ""}`,
    [probeId],
  );
  return rows.length === 1;
}

/** One probe order with the fence in the same snapshot; its columns are null when it is not there. */
export async function readProbeOrder(db: Db, probeId: string): Promise<(FenceRow & Nullable<ProbeRow>)[]> {
  const [rows] = await db.query<(FenceRow & Nullable<ProbeRow> & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role, p.probe_id, p.state, p.version
       FROM stripe_state s JOIN ha.identity i LEFT JOIN probe_orders p ON p.probe_id = ? WHERE s.id = 1`,
    [probeId],
  );
  return rows;
}

/** Removes some that are older than `before`; those that others are removing are left to them. */
export async function purgeProbeOrders(db: Db, before: Instant, limit: number): Promise<void> {
  const [rows] = await db.query<(RowDataPacket & { probe_id: string })[]>(
    "SELECT probe_id FROM probe_orders WHERE create_time < ? ORDER BY create_time LIMIT ? FOR UPDATE SKIP LOCKED",
    [toDbTime(before), limit],
  );
  if (rows.length === 0) return;
  await db.query("DELETE FROM probe_orders WHERE probe_id IN (?)", [rows.map((row) => row.probe_id)]);
}
