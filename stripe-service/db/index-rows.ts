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

/** As {@link selectIndexRow}, held until the transaction ends. */
export async function lockIndexRow(db: Db, key: Key): Promise<PointerRow | undefined> {
  const [[row]] = await db.query<(PointerRow & RowDataPacket)[]>(
    "SELECT transaction_id, request_hash FROM merchant_orders WHERE bucket = ? AND mchid = ? AND out_trade_no = ? FOR UPDATE",
    [key.bucket, key.mchid, key.outTradeNo],
  );
  return row;
}

/** Moves the pointer, if it is `from`. @returns whether it was moved */
export async function updatePointer(db: Db, key: Key, from: string, to: string, requestHash: string): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE merchant_orders SET transaction_id = ?, request_hash = UNHEX(?)
      WHERE bucket = ? AND mchid = ? AND out_trade_no = ? AND transaction_id = ?`,
    [to, requestHash, key.bucket, key.mchid, key.outTradeNo, from],
  );
  return result.affectedRows === 1;
}

export interface IndexRow {
  readonly mchid: string;
  readonly out_trade_no: string;
  readonly transaction_id: string;
  /** SHA-256, hex. */
  readonly request_hash: string;
}

/** Writes rows of a bucket over what is there: a stripe that was its home before has older ones. */
export async function upsertIndexRows(db: Db, bucket: number, rows: readonly IndexRow[]): Promise<void> {
  const values = rows.flatMap((r) => [bucket, r.mchid, r.out_trade_no, r.transaction_id, r.request_hash]);
  await db.query(
    `INSERT INTO merchant_orders (bucket, mchid, out_trade_no, transaction_id, request_hash)
     VALUES ${rows.map(() => "(?, ?, ?, ?, UNHEX(?))").join(", ")} AS moved
     ON DUPLICATE KEY UPDATE transaction_id = moved.transaction_id, request_hash = moved.request_hash`,
    values,
  );
}
