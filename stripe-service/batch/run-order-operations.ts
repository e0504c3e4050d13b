// The operations of a batch on orders that exist, in the order in which they came: of two on one order the second sees
// what the first has done.
import type { RowLock } from "../db/order-sets.ts";
import type { OrderRow } from "../db/tables.ts";
import type { Aggregate, Step } from "../orders/aggregate.ts";
import { closeOrder } from "../orders/close-order.ts";
import { createRefund } from "../orders/create-refund.ts";
import { orderNotExist, refundNotExist } from "../orders/not-exist.ts";
import { payOrder } from "../orders/pay-order.ts";
import { recordRefundResult } from "../orders/record-refund-result.ts";
import { refused, type Tx, writesRefused } from "../orders/tx.ts";
import type { Instant } from "../../core/time.ts";
import type { AheadResult } from "./ahead.ts";
import { loadAggregates, orderOf } from "./load-aggregates.ts";
import type { AnyAnswer, OrderOperation, Result } from "./operations.ts";
import type { Writes } from "./writes.ts";

/** Runs them. @returns a result for each, in their order */
export async function runOrderOperations(
  tx: Tx,
  ops: readonly OrderOperation[],
  lock: RowLock,
  ahead: AheadResult | undefined,
  writes: Writes,
): Promise<Result[]> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return ops.map(() => ({ kind: "answer", outcome: refused(fenced), pending: false }));
  const { aggregates, held, ownerOf } = await loadAggregates(tx, ops, lock, ahead);
  const changes = new Map<string, OrderRow>();
  /** Orders of which something was written: whatever is said of them from then on rests on that. */
  const touched = new Set<string>();
  const results = ops.map((op): Result => {
    const id = orderOf(op, ownerOf);
    if (id === undefined) return { kind: "answer", outcome: refused(refundNotExist()), pending: false };
    if (held.has(id)) return { kind: "held" };
    const state = aggregates.get(id);
    if (state === undefined) return { kind: "answer", outcome: refused(orderNotExist()), pending: false };
    const { outcome, after, writes: written } = stepOf(state, op, tx.now);
    if (written !== undefined) {
      writes.step(written);
      touched.add(id);
      aggregates.set(id, after);
      if (after.order !== state.order && !changes.has(id)) changes.set(id, state.order);
    }
    return { kind: "answer", outcome, pending: touched.has(id) };
  });
  for (const [id, before] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const now = aggregates.get(id)?.order;
    if (now !== undefined) writes.changed({ was: before.version, now });
  }
  return results;
}

function stepOf(state: Aggregate, op: OrderOperation, now: Instant): Step<AnyAnswer> {
  switch (op.kind) {
    case "pay":
      return payOrder(state, op.pay, now);
    case "close":
      return closeOrder(state, now);
    case "refund":
      return createRefund(state, op.refundId, op.refund, now);
    case "refund-result":
      return recordRefundResult(state, op.refundId, op.status, now);
    default:
      return op satisfies never;
  }
}
