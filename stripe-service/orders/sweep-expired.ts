import { lockExpiredOrders, markOrdersExpired } from "../db/expired-orders.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "./tx.ts";

/** Closes a batch of unpaid orders past `time_expire`. Several instances may run it at once. @returns how many */
export async function sweepExpired(tx: Tx, batchMax: number): Promise<Outcome<number>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const expired = await lockExpiredOrders(tx.db, tx.now, batchMax);
  if (expired.length === 0) return done(0);
  const ids = expired.map((row) => row.transaction_id);
  const closed = await markOrdersExpired(tx.db, ids, tx.now);
  if (closed !== ids.length) throw new Error("a locked order changed its state");
  await tx.journal(
    ...expired.map((row) => ({
      type: "ORDER_CLOSED" as const,
      transactionId: row.transaction_id,
      mchid: row.mchid,
      outTradeNo: row.out_trade_no,
      version: row.version + 1,
      data: { close_reason: "EXPIRED" },
    })),
  );
  return done(closed);
}
