// Reads outside of transactions. Each is one statement that brings the fence along, so that what is read and whether
// it may be shown come from one snapshot.
import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import type { Key } from "./index-rows.ts";
import { asciiLiteral } from "./literals.ts";
import { FENCE_COLUMNS } from "./read-fence.ts";
import {
  type EventRow,
  type FenceRow,
  type Nullable,
  ORDER_COLUMNS,
  type OrderRow,
  type PointerRow,
  REFUND_COLUMNS,
  type RefundRow,
} from "./tables.ts";

export type FencedRow<T> = FenceRow & Nullable<T>;

const FENCED = `${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role`;

/** The orders with these numbers that there are; one row with null columns when there is none of them. */
export async function readOrders(db: Db, transactionIds: readonly string[]): Promise<FencedRow<OrderRow>[]> {
  const [rows] = await db.query<(FencedRow<OrderRow> & RowDataPacket)[]>(
    `SELECT ${FENCED}, ${ORDER_COLUMNS} FROM stripe_state s JOIN ha.identity i
       LEFT JOIN orders o ON o.transaction_id IN (${transactionIds.map(asciiLiteral).join(", ")}) WHERE s.id = 1`,
  );
  return rows;
}

/** The order's row once for each of its refunds, oldest first; refund columns null when it has none. */
export async function readRefundsOfOrder(
  db: Db,
  transactionId: string,
  limit: number,
): Promise<FencedRow<OrderRow & RefundRow>[]> {
  const [rows] = await db.query<(FencedRow<OrderRow & RefundRow> & RowDataPacket)[]>(
    `SELECT ${FENCED}, ${REFUND_COLUMNS}, ${ORDER_COLUMNS}
       FROM stripe_state s JOIN ha.identity i LEFT JOIN orders o ON o.transaction_id = ?
       LEFT JOIN refunds r ON r.transaction_id = o.transaction_id
      WHERE s.id = 1 ORDER BY r.create_time, r.refund_id LIMIT ?`,
    [transactionId, limit],
  );
  return rows;
}

export async function readRefund(db: Db, refundId: string): Promise<FencedRow<OrderRow & RefundRow>[]> {
  const [rows] = await db.query<(FencedRow<OrderRow & RefundRow> & RowDataPacket)[]>(
    `SELECT ${FENCED}, ${REFUND_COLUMNS}, ${ORDER_COLUMNS}
       FROM stripe_state s JOIN ha.identity i LEFT JOIN refunds r ON r.refund_id = ?
       LEFT JOIN orders o ON o.transaction_id = r.transaction_id WHERE s.id = 1`,
    [refundId],
  );
  return rows;
}

/** The order's journal, oldest first. */
export async function readHistory(db: Db, transactionId: string, limit: number): Promise<FencedRow<EventRow>[]> {
  const [rows] = await db.query<(FencedRow<EventRow> & RowDataPacket)[]>(
    `SELECT ${FENCED}, CAST(e.seq AS CHAR) AS seq, e.event_type, e.version, e.create_time, e.data
       FROM stripe_state s JOIN ha.identity i LEFT JOIN order_events e ON e.transaction_id = ?
      WHERE s.id = 1 ORDER BY e.seq LIMIT ?`,
    [transactionId, limit],
  );
  return rows;
}

type LookupRow = Nullable<OrderRow> & {
  readonly pointer_id: PointerRow["transaction_id"] | null;
  readonly pointer_hash: Buffer | null;
};

const POINTER_AND_ORDER = `k.transaction_id AS pointer_id, k.request_hash AS pointer_hash, ${ORDER_COLUMNS}`;

/** The key's index row and, when it is here, its order; with the role of the bucket. */
export async function readByIndex(db: Db, key: Key): Promise<(FenceRow & LookupRow)[]> {
  const [rows] = await db.query<(FenceRow & LookupRow & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, b.bucket, b.role AS bucket_role, ${POINTER_AND_ORDER}
       FROM stripe_state s JOIN ha.identity i LEFT JOIN bucket_state b ON b.bucket = ?
       LEFT JOIN merchant_orders k ON k.bucket = ? AND k.mchid = ? AND k.out_trade_no = ?
       LEFT JOIN orders o ON o.transaction_id = k.transaction_id WHERE s.id = 1`,
    [key.bucket, key.bucket, key.mchid, key.outTradeNo],
  );
  return rows;
}

/** The key's handoff and its order. */
export async function readByHandoff(db: Db, key: Key): Promise<(FenceRow & LookupRow)[]> {
  const [rows] = await db.query<(FenceRow & LookupRow & RowDataPacket)[]>(
    `SELECT ${FENCE_COLUMNS}, NULL AS bucket, NULL AS bucket_role, ${POINTER_AND_ORDER}
       FROM stripe_state s JOIN ha.identity i
       LEFT JOIN handoffs k ON k.mchid = ? AND k.out_trade_no = ?
       LEFT JOIN orders o ON o.transaction_id = k.transaction_id WHERE s.id = 1`,
    [key.mchid, key.outTradeNo],
  );
  return rows;
}
