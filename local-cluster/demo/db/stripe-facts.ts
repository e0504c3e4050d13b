import type { RowDataPacket } from "../../../runtime/mysql.ts";
import { connect, type MysqlTarget } from "../../../runtime/mysql.ts";

const CONNECT_TIMEOUT_MS = 5_000;

export interface StoredOrder {
  readonly mchid: string;
  readonly outTradeNo: string;
  readonly transactionId: string;
  readonly state: string;
  readonly closeReason: string | null;
  /** Superseded by another order of the same number. */
  readonly superseded: boolean;
  readonly jumped: boolean;
  /** Minor units. */
  readonly paid: bigint;
  readonly refunded: bigint;
}

/** Every order of a run as one stripe's database has it, money from the payments and refunds tables themselves. */
export async function readStoredOrders(stripe: MysqlTarget, mchidPrefix: string): Promise<StoredOrder[]> {
  const connection = await connect(stripe, CONNECT_TIMEOUT_MS);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT o.mchid, o.out_trade_no, o.transaction_id, o.trade_state, o.close_reason,
              o.superseded_by IS NOT NULL AS superseded, h.transaction_id IS NOT NULL AS jumped,
              CAST(COALESCE(p.total, 0) AS CHAR) AS paid,
              CAST(COALESCE((SELECT SUM(r.refund) FROM refunds r
                WHERE r.transaction_id = o.transaction_id AND r.status = 'SUCCESS'), 0) AS CHAR) AS refunded
         FROM orders o
         LEFT JOIN payments p ON p.transaction_id = o.transaction_id
         LEFT JOIN handoffs h ON h.mchid = o.mchid AND h.out_trade_no = o.out_trade_no
        WHERE o.mchid LIKE ?`,
      [`${mchidPrefix}%`],
    );
    return rows.map((row) => ({
      mchid: String(row.mchid),
      outTradeNo: String(row.out_trade_no),
      transactionId: String(row.transaction_id),
      state: String(row.trade_state),
      closeReason: row.close_reason === null ? null : String(row.close_reason),
      superseded: Number(row.superseded) === 1,
      jumped: Number(row.jumped) === 1,
      paid: BigInt(String(row.paid)),
      refunded: BigInt(String(row.refunded)),
    }));
  } finally {
    await connection.end();
  }
}
