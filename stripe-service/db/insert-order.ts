import { toDbTime, type Instant } from "../../core/time.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import type { Db } from "./db.ts";

export interface NewOrder {
  readonly transactionId: string;
  readonly order: CreateOrder;
  readonly createTime: Instant;
  readonly timeExpire: Instant;
}

/** Writes an unpaid order of version 1. */
export async function insertOrder(db: Db, { transactionId, order, createTime, timeExpire }: NewOrder): Promise<void> {
  await db.query(
    `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url,
       total, currency, trade_state, create_time, time_expire, time_expire_given, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'NOTPAY', ?, ?, ?, 1)`,
    [
      transactionId,
      order.mchid,
      order.out_trade_no,
      order.description,
      order.attach ?? null,
      order.payer?.openid ?? null,
      order.notify_url ?? null,
      order.amount.total,
      order.amount.currency,
      toDbTime(createTime),
      toDbTime(timeExpire),
      order.time_expire === undefined ? 0 : 1,
    ],
  );
}
