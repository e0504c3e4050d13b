import type { Knex } from "knex";
import type { CreateOrder } from "../../../core/schemas/orders.ts";

/** A create as a team writes it first: one transaction a request, the order, its index row and its event. */
export async function plainCreate(
  knex: Knex,
  transactionId: string,
  bucket: number,
  requestHash: string,
  order: CreateOrder,
): Promise<Record<string, unknown>> {
  const now = new Date();
  const expire = new Date(now.getTime() + 2 * 3600 * 1000);
  const row = {
    transaction_id: transactionId,
    mchid: order.mchid,
    out_trade_no: order.out_trade_no,
    description: order.description,
    attach: order.attach ?? null,
    payer_openid: order.payer?.openid ?? null,
    notify_url: order.notify_url ?? null,
    total: order.amount.total,
    currency: order.amount.currency,
    trade_state: "NOTPAY",
    create_time: now,
    time_expire: expire,
    time_expire_given: 0,
    version: 1,
  };
  await knex.transaction(async (tx) => {
    await tx("merchant_orders").insert({
      bucket,
      mchid: order.mchid,
      out_trade_no: order.out_trade_no,
      transaction_id: transactionId,
      request_hash: Buffer.from(requestHash, "hex"),
    });
    await tx("orders").insert(row);
    await tx("order_events").insert({
      transaction_id: transactionId,
      mchid: order.mchid,
      out_trade_no: order.out_trade_no,
      event_type: "ORDER_CREATED",
      version: 1,
      create_time: now,
      data: JSON.stringify({ total: row.total, currency: row.currency, time_expire: expire, bucket, path: "INDEX" }),
    });
  });
  return row;
}
