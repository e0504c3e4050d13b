// Step 3, in the stripe of the order that the index names: does it yield to the jumped one? Its own row decides, so a
// payment that comes at the same time and this are one row's race. A paid order never yields.
import { DomainError } from "../../core/errors.ts";
import type { SupersedeAnswer, SupersedeClaim } from "../../core/schemas/wire-jump.ts";
import { selectOrder } from "../db/select-order.ts";
import type { OrderRow } from "../db/tables.ts";
import { closeAsDuplicate, markSuperseded } from "../db/update-order.ts";
import { orderNotExist } from "../orders/not-exist.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";
import { journalDuplicate, journalSuperseded } from "./journal.ts";

export interface Supersede {
  readonly transactionId: string;
  readonly mchid: string;
  readonly outTradeNo: string;
  /** The jumped order. */
  readonly by: string;
  readonly claim: SupersedeClaim;
}

export async function supersedeOrder(tx: Tx, request: Supersede): Promise<Outcome<SupersedeAnswer>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const { transactionId, by, claim } = request;
  // The lock comes first, so that the states looked at are those that the conditional updates see.
  const order = await selectOrder(tx.db, transactionId, "UPDATE");
  if (order === undefined) return refused(orderNotExist());
  if (order.mchid !== request.mchid || order.out_trade_no !== request.outTradeNo || transactionId === by) {
    return refused(new DomainError("STATE_NOT_ALLOWED", "only an order of the same merchant number supersedes it"));
  }
  if (await closeAsDuplicate(tx.db, transactionId, by, tx.now)) {
    await journalDuplicate(tx, order, by);
    return done("YIELDS");
  }
  switch (order.trade_state) {
    case "SUCCESS":
    case "REFUND":
      return done("STAYS_PAID");
    case "CLOSED":
      return done(await closedOrder(tx, order, by, claim));
    case "NOTPAY":
      throw new Error("a locked open order was not closed");
    default:
      return order.trade_state satisfies never;
  }
}

async function closedOrder(tx: Tx, order: OrderRow, by: string, claim: SupersedeClaim): Promise<SupersedeAnswer> {
  switch (order.close_reason) {
    case "DUPLICATE":
      return "YIELDS";
    case "MERCHANT":
    case "ADMIN":
      // The merchant's close is about the number: only money is stronger.
      if (claim !== "PAID") return "STAYS";
      break;
    case "EXPIRED":
      break;
    case null:
      throw new Error("a closed order has no close_reason");
    default:
      return order.close_reason satisfies never;
  }
  if (await markSuperseded(tx.db, order.transaction_id, by)) await journalSuperseded(tx, order, by);
  return "YIELDS";
}
