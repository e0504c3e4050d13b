// Journal rows of settling a jumped order.
import type { HandoffState } from "../../core/order-states.ts";
import type { Key } from "../db/index-rows.ts";
import type { OrderRow } from "../db/tables.ts";
import type { Tx } from "../orders/tx.ts";

/** An open order was closed because another one stands for its number. @param order as it was before */
export function journalDuplicate(tx: Tx, order: OrderRow, by: string): Promise<void> {
  return tx.journal({
    type: "ORDER_CLOSED",
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version + 1,
    data: { close_reason: "DUPLICATE", superseded_by: by },
  });
}

/** Another order stands for the number of one that was closed or paid before; its state stays. */
export function journalSuperseded(tx: Tx, order: OrderRow, by: string): Promise<void> {
  return tx.journal({
    type: "ORDER_SUPERSEDED",
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version + 1,
    data: { superseded_by: by, trade_state: order.trade_state },
  });
}

/** A handoff went on. It is not a change of its order, so it is journaled under the merchant number alone. */
export function journalHandoff(
  tx: Tx,
  key: Key,
  transactionId: string,
  state: Exclude<HandoffState, "PENDING">,
): Promise<void> {
  return tx.journal({
    type: state === "DONE" ? "HANDOFF_DONE" : "HANDOFF_CLAIMED",
    mchid: key.mchid,
    outTradeNo: key.outTradeNo,
    data: { bucket: key.bucket, transaction_id: transactionId },
  });
}
