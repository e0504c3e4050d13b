// The index of a home bucket: merchant number → order number.
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { PointerRow } from "./tables.ts";

export interface Key {
  readonly bucket: number;
  readonly mchid: string;
  readonly outTradeNo: string;
}

/**
 * Writes the index row unless the key has one. The no-op update makes a waiter take an exclusive lock at once: with a
 * plain INSERT waiters take shared locks, and several of them deadlock when the first one rolls back.
 * @param requestHash SHA-256, hex
 * @returns whether it was written; false = the key is known, and its row is locked
 */
export async function insertIndexRow(db: Db, key: Key, transactionId: string, requestHash: string): Promise<boolean> {
  const [result] = await db.execute<ResultSetHeader>(
    `INSERT INTO merchant_orders (bucket, mchid, out_trade_no, transaction_id, request_hash) VALUES (?, ?, ?, ?, UNHEX(?))
     ON DUPLICATE KEY UPDATE bucket = bucket`,
    [key.bucket, key.mchid, key.outTradeNo, transactionId, requestHash],
  );
  return result.affectedRows === 1;
}

/** The pointer of a key, or undefined. */
export async function selectIndexRow(db: Db, key: Key): Promise<PointerRow | undefined> {
  const [[row]] = await db.execute<(PointerRow & RowDataPacket)[]>(
    "SELECT transaction_id, request_hash FROM merchant_orders WHERE bucket = ? AND mchid = ? AND out_trade_no = ?",
    [key.bucket, key.mchid, key.outTradeNo],
  );
  return row;
}
