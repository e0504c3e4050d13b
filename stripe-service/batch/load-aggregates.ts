// Locks the orders that a batch's operations are about and reads what those operations need to know of them, and no
// more: most payments need nothing but the order's own row.
import { type Pair, type RowLock, selectExcessPayments, selectKnownIds } from "../db/order-sets.ts";
import { selectOrders, selectPayments, selectRefunds, selectRefundsByNo } from "../db/order-sets.ts";
import type { PaymentRow, RefundRow } from "../db/tables.ts";
import type { Aggregate } from "../orders/aggregate.ts";
import { isPaidBy, isPayable } from "../orders/pay-order.ts";
import type { Tx } from "../orders/tx.ts";
import type { AheadResult } from "./ahead.ts";
import type { OrderOperation } from "./operations.ts";

export interface Loaded {
  readonly aggregates: Map<string, Aggregate>;
  /** Orders that exist and whose rows somebody else holds. */
  readonly held: ReadonlySet<string>;
  /** The order of each refund that an operation names by `refund_id`. */
  readonly ownerOf: ReadonlyMap<string, string>;
}

/** The order that an operation is about; undefined: its refund does not exist. */
export function orderOf(op: OrderOperation, ownerOf: ReadonlyMap<string, string>): string | undefined {
  return op.kind === "refund-result" ? ownerOf.get(op.refundId) : op.transactionId;
}

/** @param ahead the rows, when their locks were taken along with the fence */
export async function loadAggregates(
  tx: Tx,
  ops: readonly OrderOperation[],
  lock: RowLock,
  ahead: AheadResult | undefined,
): Promise<Loaded> {
  const ownerOf = await ownersOf(tx, ops);
  const byOrder = Map.groupBy(ops, (op) => orderOf(op, ownerOf) ?? "");
  byOrder.delete("");
  const ids = [...byOrder.keys()];
  const rows = ahead !== undefined && ahead.orders.length > 0 ? ahead.rows : await selectOrders(tx.db, ids, lock);
  const aggregates = new Map<string, Aggregate>();
  for (const order of rows) {
    aggregates.set(order.transaction_id, { order, payment: undefined, excess: new Map(), refunds: new Map() });
  }
  const missing = ids.filter((id) => !aggregates.has(id));
  const held = missing.length === 0 || lock === "WAIT" ? new Set<string>() : await selectKnownIds(tx.db, missing);
  await addPayments(tx, byOrder, aggregates);
  await addRefunds(tx, byOrder, aggregates);
  return { aggregates, held, ownerOf };
}

/** A refund never changes its order, so this may be read before the locks. */
async function ownersOf(tx: Tx, ops: readonly OrderOperation[]): Promise<Map<string, string>> {
  const ids = ops.flatMap((op) => (op.kind === "refund-result" ? [op.refundId] : []));
  const refunds = await selectRefunds(tx.db, [...new Set(ids)]);
  return new Map(refunds.map((refund) => [refund.refund_id, refund.transaction_id]));
}

type ByOrder = ReadonlyMap<string, readonly OrderOperation[]>;

/**
 * Payments that a replay is compared with, and excess payments that may have been recorded. A single payment of a
 * payable order needs neither.
 */
async function addPayments(tx: Tx, byOrder: ByOrder, aggregates: Map<string, Aggregate>): Promise<void> {
  const ids: string[] = [];
  const pairs: Pair[] = [];
  for (const [id, { order }] of aggregates) {
    const ops = byOrder.get(id) ?? [];
    if (ops.length === 1 && isPayable(order, tx.now)) continue;
    for (const op of ops) {
      if (op.kind !== "pay") continue;
      if (isPaidBy(order, op.pay.out_pay_no)) ids.push(id);
      else pairs.push([id, op.pay.out_pay_no]);
    }
  }
  for (const { transaction_id: id, ...payment } of await selectPayments(tx.db, [...new Set(ids)])) {
    change(aggregates, id, (aggregate) => ({ ...aggregate, payment }));
  }
  for (const { transaction_id: id, ...payment } of await selectExcessPayments(tx.db, pairs)) {
    change(aggregates, id, (aggregate) => ({ ...aggregate, excess: withEntry(aggregate.excess, payment) }));
  }
}

function withEntry(excess: ReadonlyMap<string, PaymentRow>, payment: PaymentRow): ReadonlyMap<string, PaymentRow> {
  return new Map(excess).set(payment.out_pay_no, payment);
}

/** Refunds by either number. Whoever changes a refund holds its order, so this is read after the locks. */
async function addRefunds(tx: Tx, byOrder: ByOrder, aggregates: Map<string, Aggregate>): Promise<void> {
  const ids: string[] = [];
  const pairs: Pair[] = [];
  for (const id of aggregates.keys()) {
    for (const op of byOrder.get(id) ?? []) {
      if (op.kind === "refund-result") ids.push(op.refundId);
      if (op.kind === "refund") pairs.push([id, op.refund.out_refund_no]);
    }
  }
  const found: RefundRow[] = [
    ...(await selectRefunds(tx.db, [...new Set(ids)])),
    ...(await selectRefundsByNo(tx.db, pairs)),
  ];
  for (const refund of found) {
    change(aggregates, refund.transaction_id, (aggregate) => ({
      ...aggregate,
      refunds: new Map(aggregate.refunds).set(refund.refund_id, refund),
    }));
  }
}

function change(aggregates: Map<string, Aggregate>, id: string, how: (aggregate: Aggregate) => Aggregate): void {
  const aggregate = aggregates.get(id);
  if (aggregate !== undefined) aggregates.set(id, how(aggregate));
}
