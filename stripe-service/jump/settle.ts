// The steps of settling that run in the jumped order's own stripe (2, 4b and 5). Each is one transaction, takes its
// locks in the order handoff, order, and may be repeated. The handoff is DONE only in the transaction that settles the
// order, after all other effects: whatever crashes earlier is run again from the start.
import type { SupersedeAnswer, SupersedeClaim } from "../../core/schemas/wire-jump.ts";
import { type HandoffRow, lockHandoff, updateHandoffState } from "../db/handoffs.ts";
import type { Key } from "../db/index-rows.ts";
import { insertExcessOfPayment } from "../db/excess-of-payment.ts";
import { selectOrder } from "../db/select-order.ts";
import type { OrderRow } from "../db/tables.ts";
import { closeAsDuplicate, markSuperseded } from "../db/update-order.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";
import type { IndexPointer } from "./claim-key.ts";
import { journalDuplicate, journalHandoff, journalSuperseded } from "./journal.ts";

export type Decision =
  /** The handoff is DONE. */
  | { readonly next: "end" }
  /** The jumped order may take the pointer's place (step 3). */
  | { readonly next: "supersede"; readonly claim: SupersedeClaim };

const END: Decision = { next: "end" };

interface Held {
  readonly handoff: HandoffRow;
  readonly order: OrderRow;
}

/** Both rows, locked; undefined when the handoff is DONE or purged, so that nothing is left to do. */
async function hold(tx: Tx, key: Key): Promise<Held | undefined> {
  const handoff = await lockHandoff(tx.db, key);
  if (handoff === undefined || handoff.state === "DONE") return undefined;
  const order = await selectOrder(tx.db, handoff.transaction_id, "UPDATE");
  if (order === undefined) throw new Error("a handoff without its order");
  return { handoff, order };
}

/**
 * Step 2: what becomes of the jumped order, given what the index names. Only facts that never revert let it challenge
 * the pointer: it is paid, the merchant closed it, or the pointer is one of its own request's lost attempts.
 */
export async function decideHandoff(tx: Tx, key: Key, pointer: IndexPointer): Promise<Outcome<Decision>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const held = await hold(tx, key);
  if (held === undefined) return done(END);
  const { handoff, order } = held;
  if (handoff.state === "PENDING") await journalDifference(tx, key, order, handoff, pointer);
  if (order.superseded_by !== null) return done(await end(tx, key, order));
  const claim = claimOf(handoff, order, pointer.transactionId);
  if (claim === undefined) {
    await yieldTo(tx, order, pointer.transactionId);
    return done(await end(tx, key, order));
  }
  if (await updateHandoffState(tx.db, key, "CLAIMED")) {
    await journalHandoff(tx, key, order.transaction_id, "CLAIMED");
  }
  return done({ next: "supersede", claim });
}

/** What the jumped order has against the pointer; undefined: nothing. */
function claimOf(handoff: HandoffRow, order: OrderRow, pointer: string): SupersedeClaim | undefined {
  if (isPaid(order)) return "PAID";
  if (handoff.failed.split(",").includes(pointer)) return "PREFERRED";
  const { close_reason: reason } = order;
  return reason === "MERCHANT" || reason === "ADMIN" ? "CLOSED" : undefined;
}

/**
 * Step 4b: the pointer stays. @returns whether the handoff is settled; false: the order was paid meanwhile, begin again
 */
export async function giveWay(
  tx: Tx,
  key: Key,
  pointer: string,
  answer: Exclude<SupersedeAnswer, "YIELDS">,
): Promise<Outcome<boolean>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const held = await hold(tx, key);
  if (held === undefined) return done(true);
  const { order } = held;
  if (order.superseded_by === null) {
    if (isPaid(order) && answer === "STAYS") return done(false);
    await yieldTo(tx, order, pointer);
    if (isPaid(order)) await recordExcess(tx, order);
  }
  await end(tx, key, order);
  return done(true);
}

/** Step 5: the home's index names the jumped order. */
export async function finishHandoff(tx: Tx, key: Key): Promise<Outcome<Decision>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const handoff = await lockHandoff(tx.db, key);
  if (handoff !== undefined && (await updateHandoffState(tx.db, key, "DONE"))) {
    await journalHandoff(tx, key, handoff.transaction_id, "DONE");
  }
  return done(END);
}

function isPaid(order: OrderRow): boolean {
  return order.trade_state === "SUCCESS" || order.trade_state === "REFUND";
}

/** The order gives way to another: an open one is closed, any other keeps its state. */
async function yieldTo(tx: Tx, order: OrderRow, to: string): Promise<void> {
  if (await closeAsDuplicate(tx.db, order.transaction_id, to, tx.now)) return journalDuplicate(tx, order, to);
  if (!(await markSuperseded(tx.db, order.transaction_id, to))) throw new Error("a locked order changed");
  await journalSuperseded(tx, order, to);
}

/** The order's payment is money to give back: the other paid order stands for the number. */
async function recordExcess(tx: Tx, order: OrderRow): Promise<void> {
  if (!(await insertExcessOfPayment(tx.db, order.transaction_id, tx.now)))
    throw new Error("a paid order has no payment");
  await tx.journal({
    type: "EXCESS_PAYMENT",
    transactionId: order.transaction_id,
    mchid: order.mchid,
    outTradeNo: order.out_trade_no,
    version: order.version + 1,
    data: { out_pay_no: order.out_pay_no, total: order.total, currency: order.currency, reason: "SUPERSEDED" },
  });
}

async function end(tx: Tx, key: Key, order: OrderRow): Promise<Decision> {
  if (!(await updateHandoffState(tx.db, key, "DONE"))) throw new Error("a locked handoff changed");
  await journalHandoff(tx, key, order.transaction_id, "DONE");
  return END;
}

/** For people: one merchant number was used for two different orders during an outage. */
async function journalDifference(
  tx: Tx,
  key: Key,
  order: OrderRow,
  handoff: HandoffRow,
  pointer: IndexPointer,
): Promise<void> {
  if (handoff.request_hash.toString("hex") === pointer.requestHash) return;
  await tx.journal({
    type: "DUPLICATE_CONTENT_DIFFERS",
    mchid: key.mchid,
    outTradeNo: key.outTradeNo,
    data: { jumped: order.transaction_id, pointer: pointer.transactionId },
  });
}
