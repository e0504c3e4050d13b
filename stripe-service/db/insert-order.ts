import { toDbTime, type Instant } from "../../core/time.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { type Db, exact, hexText } from "./db.ts";

export interface NewOrder {
  readonly transactionId: string;
  readonly order: CreateOrder;
  readonly createTime: Instant;
  readonly timeExpire: Instant;
}

/** Writes an unpaid order of version 1. */
export async function insertOrder(db: Db, { transactionId, order, createTime, timeExpire }: NewOrder): Promise<void> {
  await db.execute(
    `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url,
       total, currency, trade_state, create_time, time_expire, time_expire_given, version)
     VALUES (?, ?, ?, CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4), ?,
       CONVERT(UNHEX(?) USING utf8mb4), ?, ?, 'NOTPAY', ?, ?, ?, 1)`,
    [
      transactionId,
      order.mchid,
      order.out_trade_no,
      hexText(order.description),
      hexText(order.attach),
      order.payer?.openid ?? null,
      hexText(order.notify_url),
      exact(order.amount.total),
      order.amount.currency,
      toDbTime(createTime),
      toDbTime(timeExpire),
      order.time_expire === undefined ? 0 : 1,
    ],
  );
}
