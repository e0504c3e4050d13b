// Handoffs: this stripe's index for the numbers that jumped here.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { Key } from "./index-rows.ts";
import type { PointerRow } from "./tables.ts";

/**
 * Writes a PENDING handoff unless the key has one; locks as `insertIndexRow` does.
 * @param requestHash SHA-256, hex
 * @param failed numbers of the same request whose outcome is unknown, oldest first; never changed later
 * @returns whether it was written; false = the key is known, and its row is locked
 */
export async function insertHandoff(
  db: Db,
  key: Key,
  transactionId: string,
  requestHash: string,
  failed: readonly string[],
  now: Instant,
): Promise<boolean> {
  const [result] = await db.execute<ResultSetHeader>(
    `INSERT INTO handoffs
       (mchid, out_trade_no, bucket, transaction_id, request_hash, failed, state, tries, next_try, create_time)
     VALUES (?, ?, ?, ?, UNHEX(?), ?, 'PENDING', 0, ?, ?)
     ON DUPLICATE KEY UPDATE mchid = mchid`,
    [key.mchid, key.outTradeNo, key.bucket, transactionId, requestHash, failed.join(","), toDbTime(now), toDbTime(now)],
  );
  return result.affectedRows === 1;
}

/** The handoff's order and hash, or undefined. */
export async function selectHandoff(db: Db, key: Key): Promise<PointerRow | undefined> {
  const [[row]] = await db.execute<(PointerRow & RowDataPacket)[]>(
    "SELECT transaction_id, request_hash FROM handoffs WHERE mchid = ? AND out_trade_no = ?",
    [key.mchid, key.outTradeNo],
  );
  return row;
}
