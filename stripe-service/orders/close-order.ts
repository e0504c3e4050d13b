import { DomainError } from "../../core/errors.ts";
import type { Order } from "../../core/schemas/orders.ts";
import { selectOrder } from "../db/select-order.ts";
import { markOrderClosed } from "../db/update-order.ts";
import { orderNotExist } from "./not-exist.ts";
import { orderView } from "./order-view.ts";
import { done, type Outcome, refused, TransactionRetry, type Tx, writesRefused } from "./tx.ts";

/** Closes an unpaid order; a closed one stays as it is. Paid: ORDER_PAID with the order. */
export async function closeOrder(tx: Tx, transactionId: string): Promise<Outcome<{ order: Order; replayed: boolean }>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const closed = await markOrderClosed(tx.db, transactionId, "MERCHANT", tx.now);
  const row = await selectOrder(tx.db, transactionId);
  if (row === undefined) return refused(orderNotExist());
  const order = orderView(row, tx.now);
  if (!closed) {
    if (row.trade_state === "CLOSED") return done({ order, replayed: true });
    if (row.trade_state === "NOTPAY") throw new TransactionRetry("the order appeared while it was being closed");
    return refused(new DomainError("ORDER_PAID", "the order is paid", { order }));
  }
  await tx.journal({
    type: "ORDER_CLOSED",
    transactionId,
    mchid: row.mchid,
    outTradeNo: row.out_trade_no,
    version: row.version,
    data: { close_reason: "MERCHANT" },
  });
  return done({ order, replayed: false });
}
