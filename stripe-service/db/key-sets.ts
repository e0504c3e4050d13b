// Keys of many creates at once: index rows where the bucket is at home, handoffs elsewhere.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { Key } from "./index-rows.ts";
import { bytesLiteral, integerLiteral, rowList, textLiteral } from "./literals.ts";
import type { PointerRow } from "./tables.ts";

export interface NewKey {
  readonly key: Key;
  readonly transactionId: string;
  /** SHA-256, hex. */
  readonly requestHash: string;
  /** Numbers of the same request whose outcome is unknown, oldest first; of a handoff. */
  readonly failed: readonly string[];
}

export interface KnownKey extends PointerRow {
  readonly mchid: string;
  readonly out_trade_no: string;
}

/**
 * Writes the index rows of the keys that have none; locks the others' (see `insertIndexRow`). Keys must differ and come
 * in the order of the primary key: two of these that meet then wait, and never deadlock. `affectedRows`: how many were
 * written.
 */
export function insertIndexRowsSql(keys: readonly NewKey[]): string {
  const rows = keys.map(({ key, transactionId, requestHash }) => [
    integerLiteral(key.bucket),
    textLiteral(key.mchid),
    textLiteral(key.outTradeNo),
    textLiteral(transactionId),
    bytesLiteral(requestHash),
  ]);
  return `INSERT INTO merchant_orders (bucket, mchid, out_trade_no, transaction_id, request_hash) VALUES ${rowList(rows)}
     ON DUPLICATE KEY UPDATE bucket = bucket`;
}

/** As {@link insertIndexRowsSql}. @returns how many were written */
export async function insertIndexRows(db: Db, keys: readonly NewKey[]): Promise<number> {
  const [result] = await db.query<ResultSetHeader>(insertIndexRowsSql(keys));
  return result.affectedRows;
}

/** Writes PENDING handoffs, as {@link insertIndexRows}. */
export async function insertHandoffs(db: Db, keys: readonly NewKey[], now: Instant): Promise<number> {
  const time = textLiteral(toDbTime(now));
  const rows = keys.map(({ key, transactionId, requestHash, failed }) => [
    textLiteral(key.mchid),
    textLiteral(key.outTradeNo),
    integerLiteral(key.bucket),
    textLiteral(transactionId),
    bytesLiteral(requestHash),
    textLiteral(failed.join(",")),
    "'PENDING', 0",
    time,
    time,
  ]);
  const [result] = await db.query<ResultSetHeader>(
    `INSERT INTO handoffs
       (mchid, out_trade_no, bucket, transaction_id, request_hash, failed, state, tries, next_try, create_time)
     VALUES ${rowList(rows)} ON DUPLICATE KEY UPDATE mchid = mchid`,
  );
  return result.affectedRows;
}

/** What the index says of keys; those that are not known are left out. */
export async function selectIndexRows(db: Db, keys: readonly Key[]): Promise<KnownKey[]> {
  const list = keys.map((k) => [integerLiteral(k.bucket), textLiteral(k.mchid), textLiteral(k.outTradeNo)]);
  const [rows] = await db.query<(KnownKey & RowDataPacket)[]>(
    `SELECT mchid, out_trade_no, transaction_id, request_hash FROM merchant_orders
      WHERE (bucket, mchid, out_trade_no) IN (${rowList(list)})`,
  );
  return rows;
}

/** What the handoffs say of keys. */
export async function selectHandoffs(db: Db, keys: readonly Key[]): Promise<KnownKey[]> {
  const list = keys.map((k) => [textLiteral(k.mchid), textLiteral(k.outTradeNo)]);
  const [rows] = await db.query<(KnownKey & RowDataPacket)[]>(
    `SELECT mchid, out_trade_no, transaction_id, request_hash FROM handoffs
      WHERE (mchid, out_trade_no) IN (${rowList(list)})`,
  );
  return rows;
}
