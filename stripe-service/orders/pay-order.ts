// Pay looks at nothing but its own order row: one conditional UPDATE decides, and who loses is told what it lost to.
// Money that moved in the channel without an order to pay is recorded as excess in the same transaction.
import { DomainError, type ErrorCode } from "../../core/errors.ts";
import type { ExcessReason } from "../../core/order-states.ts";
import type { Order, PayOrder } from "../../core/schemas/orders.ts";
import { toDbTime } from "../../core/time.ts";
import { insertExcess, insertPayment, selectExcess, selectPayment } from "../db/payments.ts";
import { selectOrder } from "../db/select-order.ts";
import type { OrderRow, PaymentRow } from "../db/tables.ts";
import { markOrderPaid } from "../db/update-order.ts";
import { orderNotExist } from "./not-exist.ts";
import { isExpired, orderView } from "./order-view.ts";
import { done, type Outcome, refused, TransactionRetry, type Tx, writesRefused } from "./tx.ts";

export interface PayInput {
  readonly transactionId: string;
  readonly pay: PayOrder;
}

export interface PayResult {
  readonly order: Order;
  readonly replayed: boolean;
}

/** Records a payment. */
export async function payOrder(tx: Tx, input: PayInput): Promise<Outcome<PayResult>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const { transactionId, pay } = input;
  const successTime = pay.success_time ?? tx.now;
  const { total, currency } = pay.amount;
  const paid = { transactionId, outPayNo: pay.out_pay_no, total, currency, successTime };
  if (!(await markOrderPaid(tx.db, paid, tx.now))) return classify(tx, input);
  await insertPayment(tx.db, transactionId, pay, tx.now);
  const row = await selectOrder(tx.db, transactionId);
  if (row === undefined) throw new Error("an order that was updated has no row");
  await tx.journal({
    type: "ORDER_PAID",
    transactionId,
    mchid: row.mchid,
    outTradeNo: row.out_trade_no,
    version: row.version,
    data: { ...paymentFacts(pay), success_time: successTime },
  });
  return done({ order: orderView(row, tx.now), replayed: false });
}

/** What the journal says of a payment: everything but who paid. */
function paymentFacts(pay: PayOrder): Record<string, unknown> {
  return {
    out_pay_no: pay.out_pay_no,
    total: pay.amount.total,
    currency: pay.amount.currency,
    channel: pay.channel ?? null,
    channel_transaction_id: pay.channel_transaction_id ?? null,
  };
}

/** The order did not become paid: why not, by its row as it now is. */
async function classify(tx: Tx, { transactionId, pay }: PayInput): Promise<Outcome<PayResult>> {
  const row = await selectOrder(tx.db, transactionId, "UPDATE");
  if (row === undefined) return refused(orderNotExist());
  const paid = row.trade_state === "SUCCESS" || row.trade_state === "REFUND";
  if (paid && row.out_pay_no === pay.out_pay_no) {
    const payment = await selectPayment(tx.db, transactionId);
    if (payment !== undefined && samePayment(payment, pay)) {
      return done({ order: orderView(row, tx.now), replayed: true });
    }
    return refused(outPayNoUsed(row, tx));
  }
  if (paid) return excess(tx, row, pay, "DUPLICATE", "ORDER_PAID", "the order is paid by another payment");
  if (row.trade_state === "CLOSED") return excess(tx, row, pay, "LATE", "ORDER_CLOSED", "the order is closed");
  if (isExpired(row, tx.now)) return excess(tx, row, pay, "LATE", "ORDER_EXPIRED", "time_expire has passed");
  const mismatch = amountMismatch(row, pay);
  if (mismatch !== undefined) return refused(mismatch);
  throw new TransactionRetry("the order appeared while it was being paid");
}

function samePayment(row: PaymentRow, pay: PayOrder): boolean {
  return (
    row.total === pay.amount.total &&
    row.currency === pay.amount.currency &&
    row.payer_openid === (pay.payer?.openid ?? null) &&
    row.channel === (pay.channel ?? null) &&
    row.channel_transaction_id === (pay.channel_transaction_id ?? null) &&
    row.success_time === (pay.success_time === undefined ? null : toDbTime(pay.success_time))
  );
}

function outPayNoUsed(row: OrderRow, tx: Tx): DomainError {
  return new DomainError("OUT_PAY_NO_USED", "the payment number was used with other content", {
    order: orderView(row, tx.now),
  });
}

function amountMismatch(row: OrderRow, pay: PayOrder): DomainError | undefined {
  if (row.currency !== pay.amount.currency) {
    return new DomainError("CURRENCY_MISMATCH", `the order is in ${row.currency}`, {
      errors: [{ pointer: "/amount/currency", issue: `the order is in ${row.currency}` }],
    });
  }
  if (row.total !== pay.amount.total) {
    return new DomainError("AMOUNT_MISMATCH", `the order's total is ${row.total}`, {
      errors: [{ pointer: "/amount/total", issue: `the order's total is ${row.total}` }],
    });
  }
  return undefined;
}

async function excess(
  tx: Tx,
  row: OrderRow,
  pay: PayOrder,
  reason: ExcessReason,
  code: ErrorCode,
  detail: string,
): Promise<Outcome<PayResult>> {
  const id = row.transaction_id;
  if (await insertExcess(tx.db, id, reason, pay, tx.now)) {
    await tx.journal({
      type: "EXCESS_PAYMENT",
      transactionId: id,
      mchid: row.mchid,
      outTradeNo: row.out_trade_no,
      version: row.version,
      data: { ...paymentFacts(pay), reason },
    });
  } else {
    const known = await selectExcess(tx.db, id, pay.out_pay_no);
    if (known === undefined || !samePayment(known, pay)) return refused(outPayNoUsed(row, tx));
  }
  const superseded = row.superseded_by === null ? {} : { conflict: { superseded_by: row.superseded_by } };
  return refused(new DomainError(code, detail, { order: orderView(row, tx.now), ...superseded }));
}
