import { toDbTime, type Instant } from "../../core/time.ts";
import type { RefundResult, RefundStatus } from "../../core/order-states.ts";
import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import { type Db, hexText } from "./db.ts";
import { REFUND_COLUMNS, type RefundRow } from "./tables.ts";

export interface NewRefund {
  readonly refundId: string;
  readonly transactionId: string;
  readonly outRefundNo: string;
  /** Minor units. */
  readonly refund: number;
  readonly reason: string | null;
}

/** Writes a PROCESSING refund of version 1. */
export async function insertRefund(db: Db, refund: NewRefund, now: Instant): Promise<void> {
  await db.query(
    `INSERT INTO refunds (refund_id, transaction_id, out_refund_no, refund, reason, status, create_time, version)
     VALUES (?, ?, ?, ?, CONVERT(UNHEX(?) USING utf8mb4), 'PROCESSING', ?, 1)`,
    [refund.refundId, refund.transactionId, refund.outRefundNo, refund.refund, hexText(refund.reason), toDbTime(now)],
  );
}

export async function selectRefundByNo(
  db: Db,
  transactionId: string,
  outRefundNo: string,
): Promise<RefundRow | undefined> {
  const [[row]] = await db.query<(RefundRow & RowDataPacket)[]>(
    `SELECT ${REFUND_COLUMNS} FROM refunds r WHERE r.transaction_id = ? AND r.out_refund_no = ?`,
    [transactionId, outRefundNo],
  );
  return row;
}

export async function selectRefund(
  db: Db,
  refundId: string,
  lock: "UPDATE" | "NONE" = "NONE",
): Promise<RefundRow | undefined> {
  const [[row]] = await db.query<(RefundRow & RowDataPacket)[]>(
    `SELECT ${REFUND_COLUMNS} FROM refunds r WHERE r.refund_id = ?${lock === "UPDATE" ? " FOR UPDATE" : ""}`,
    [refundId],
  );
  return row;
}

/** Gives a refund a result, if its status is still `from`. @returns whether it was changed */
export async function updateRefundStatus(
  db: Db,
  refundId: string,
  from: RefundStatus,
  to: RefundResult,
  now: Instant,
): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `UPDATE refunds SET status = ?, success_time = ?, version = version + 1 WHERE refund_id = ? AND status = ?`,
    [to, to === "SUCCESS" ? toDbTime(now) : null, refundId, from],
  );
  return result.affectedRows === 1;
}
