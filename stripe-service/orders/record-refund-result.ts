import { DomainError } from "../../core/errors.ts";
import { type EventType, REFUND_TRANSITIONS, type RefundResult } from "../../core/order-states.ts";
import { selectRefund, updateRefundStatus } from "../db/refunds.ts";
import { selectOrder } from "../db/select-order.ts";
import type { RefundRow } from "../db/tables.ts";
import { releaseRefund, settleRefund } from "../db/update-order.ts";
import type { RefundResultValue } from "./create-refund.ts";
import { refundNotExist } from "./not-exist.ts";
import { orderView, refundView } from "./order-view.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "./tx.ts";

export interface RefundResultInput {
  readonly refundId: string;
  readonly status: RefundResult;
}

const EVENT: Readonly<Record<RefundResult, EventType>> = {
  SUCCESS: "REFUND_SUCCEEDED",
  CLOSED: "REFUND_CLOSED",
  ABNORMAL: "REFUND_ABNORMAL",
};

/** Records the channel's result of a refund. The same result again changes nothing; another final one is a conflict. */
export async function recordRefundResult(tx: Tx, input: RefundResultInput): Promise<Outcome<RefundResultValue>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const { refundId, status } = input;
  const seen = await selectRefund(tx.db, refundId);
  if (seen === undefined) return refused(refundNotExist());
  // Locks in the order of create-refund: the order, then the refund.
  const order = await selectOrder(tx.db, seen.transaction_id, "UPDATE");
  const refund = await selectRefund(tx.db, refundId, "UPDATE");
  if (order === undefined || refund === undefined) throw new Error("a refund without an order");
  if (refund.status === status) return done({ refund: refundView(refund, order), replayed: true });
  if (!REFUND_TRANSITIONS[refund.status].includes(status)) {
    return refused(
      new DomainError("REFUND_STATE_CONFLICT", `the refund is ${refund.status}`, {
        conflict: { refund_id: refundId, status: refund.status },
        order: orderView(order, tx.now),
      }),
    );
  }
  await updateRefundStatus(tx.db, refundId, refund.status, status, tx.now);
  await moveAmount(tx, refund, status);
  const [refundNow, orderNow] = [await selectRefund(tx.db, refundId), await selectOrder(tx.db, order.transaction_id)];
  if (refundNow === undefined || orderNow === undefined) throw new Error("a refund that was updated has no row");
  await tx.journal({
    type: EVENT[status],
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: orderNow.version,
    data: { refund_id: refundId, out_refund_no: refund.out_refund_no, refund: refund.refund, currency: order.currency },
  });
  return done({ refund: refundView(refundNow, orderNow), replayed: false });
}

/** SUCCESS spends the reserved amount, CLOSED gives it back, ABNORMAL keeps it until somebody decides. */
async function moveAmount(tx: Tx, refund: RefundRow, status: RefundResult): Promise<void> {
  if (status === "ABNORMAL") return;
  const move = status === "SUCCESS" ? settleRefund : releaseRefund;
  if (!(await move(tx.db, refund.transaction_id, refund.refund))) {
    throw new Error("the order does not hold the refund's reservation");
  }
}
