// Everything that a batch writes beside its keys, put together at its end.
import type { NewEvent } from "../db/insert-events.ts";
import type { WriteStatement } from "../db/script.ts";
import type { RefundRow } from "../db/tables.ts";
import {
  type ChangedOrder,
  type ChangedRefund,
  insertExcessPayments,
  insertOrders,
  insertPayments,
  insertRefunds,
  type NewExcess,
  type NewOrder,
  type NewPayment,
  updateOrders,
  updateRefunds,
} from "../db/write-sets.ts";
import type { StepWrites } from "../orders/aggregate.ts";
import type { Tx } from "../orders/tx.ts";

export class Writes {
  readonly #orders: NewOrder[] = [];
  readonly #changed: ChangedOrder[] = [];
  readonly #payments: NewPayment[] = [];
  readonly #excess: NewExcess[] = [];
  readonly #refunds = new Map<string, RefundRow>();
  readonly #results = new Map<string, ChangedRefund>();
  readonly #events: NewEvent[] = [];

  order(order: NewOrder, event: NewEvent): void {
    this.#orders.push(order);
    this.#events.push(event);
  }

  /** The order as all operations of the batch have left it. */
  changed(change: ChangedOrder): void {
    this.#changed.push(change);
  }

  step({ events, payment, excess, newRefund, changedRefund }: StepWrites): void {
    this.#events.push(...events);
    if (payment !== undefined) this.#payments.push(payment);
    if (excess !== undefined) this.#excess.push(excess);
    if (newRefund !== undefined) this.#refunds.set(newRefund.refund_id, newRefund);
    if (changedRefund !== undefined) this.#result(changedRefund);
  }

  /** Hands it all to the transaction, to be sent together with COMMIT; nothing when there is nothing. */
  handTo(tx: Tx): void {
    const byId = (a: { transactionId: string }, b: { transactionId: string }): number =>
      a.transactionId < b.transactionId ? -1 : 1;
    const statements: WriteStatement[] = [];
    if (this.#orders.length > 0) statements.push(insertOrders(this.#orders.sort(byId)));
    if (this.#changed.length > 0) statements.push(updateOrders(this.#changed));
    if (this.#payments.length > 0) statements.push(insertPayments(this.#payments.sort(byId), tx.now));
    if (this.#excess.length > 0) statements.push(insertExcessPayments(this.#excess.sort(byId), tx.now));
    if (this.#refunds.size > 0) statements.push(insertRefunds([...this.#refunds.values()]));
    if (this.#results.size > 0) statements.push(updateRefunds([...this.#results.values()]));
    tx.writeAtCommit(statements, this.#events);
  }

  /** Several results of one refund in one batch are one change of its row. */
  #result(change: ChangedRefund): void {
    const { refund_id: id } = change.now;
    const earlier = this.#results.get(id);
    this.#results.set(id, earlier === undefined ? change : { was: earlier.was, now: change.now });
  }
}
