// Handoffs: this stripe's index for the numbers that jumped here.
import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { HandoffState } from "../../core/order-states.ts";
import type { Key } from "./index-rows.ts";
import type { PointerRow } from "./tables.ts";

export interface HandoffRow extends PointerRow {
  /** Comma separated, oldest first; may be empty. */
  readonly failed: string;
  readonly state: HandoffState;
}

/** The handoff, held until the transaction ends; or undefined. Locked before the index row and the order. */
export async function lockHandoff(db: Db, key: Key): Promise<HandoffRow | undefined> {
  const [[row]] = await db.query<(HandoffRow & RowDataPacket)[]>(
    "SELECT transaction_id, request_hash, failed, state FROM handoffs WHERE mchid = ? AND out_trade_no = ? FOR UPDATE",
    [key.mchid, key.outTradeNo],
  );
  return row;
}

/** Moves a handoff on; states only go forward. @returns whether it was changed */
export async function updateHandoffState(db: Db, key: Key, to: Exclude<HandoffState, "PENDING">): Promise<boolean> {
  const from: readonly HandoffState[] = to === "CLAIMED" ? ["PENDING"] : ["PENDING", "CLAIMED"];
  const [result] = await db.query<ResultSetHeader>(
    "UPDATE handoffs SET state = ? WHERE mchid = ? AND out_trade_no = ? AND state IN (?)",
    [to, key.mchid, key.outTradeNo, from],
  );
  return result.affectedRows === 1;
}

/** Puts the next try of an open handoff off. @returns whether there is such a handoff */
export async function deferHandoff(db: Db, key: Key, nextTry: Instant): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE handoffs SET tries = tries + 1, next_try = ?
      WHERE mchid = ? AND out_trade_no = ? AND state IN ('PENDING', 'CLAIMED')`,
    [toDbTime(nextTry), key.mchid, key.outTradeNo],
  );
  return result.affectedRows === 1;
}

/** Locks the PENDING handoffs of a bucket. */
export async function lockPendingHandoffs(db: Db, bucket: number, limit: number): Promise<(Key & PointerRow)[]> {
  const [rows] = await db.query<(PointerRow & RowDataPacket & { mchid: string; out_trade_no: string })[]>(
    `SELECT mchid, out_trade_no, transaction_id, request_hash FROM handoffs
      WHERE state = 'PENDING' AND bucket = ? ORDER BY mchid, out_trade_no LIMIT ? FOR UPDATE`,
    [bucket, limit],
  );
  return rows.map((row) => ({ ...row, bucket, outTradeNo: row.out_trade_no }));
}
