import type { DomainError } from "../../core/errors.ts";
import type { RowLock } from "../db/order-sets.ts";
import { mayBeReplaced, refused, type Tx } from "../orders/tx.ts";
import type { AheadResult } from "./ahead.ts";
import { isProbe, type Operation, type OrderOperation, type Result } from "./operations.ts";
import { runCreates } from "./run-creates.ts";
import { runOrderOperations } from "./run-order-operations.ts";
import { runProbes } from "./run-probes.ts";
import { Writes } from "./writes.ts";

/**
 * Runs operations in one transaction, up to the script that ends with its COMMIT. Keys are locked before orders, as everywhere.
 * @param ahead what was sent along with the fence
 * @param lock `SKIP` for operations that share the transaction, so that one row in other hands keeps none of the others
 * @returns a result for each, in their order
 */
export async function runBatch(
  tx: Tx,
  ops: readonly Operation[],
  lock: RowLock,
  ahead: AheadResult | undefined,
): Promise<Result[]> {
  const writes = new Writes();
  const creates = ops.flatMap((op) => (op.kind === "create" ? [op.input] : []));
  const probes = ops.filter(isProbe);
  const others = ops.filter((op): op is OrderOperation => op.kind !== "create" && !isProbe(op));
  const created = creates.length === 0 ? [] : await runCreates(tx, creates, ahead, writes);
  const changed = others.length === 0 ? [] : await runOrderOperations(tx, others, lock, ahead, writes);
  const probed = await runProbes(tx, probes, lock);
  writes.handTo(tx);
  const [nextCreated, nextChanged, nextProbed] = [created.values(), changed.values(), probed.values()];
  return ops.map((op) => {
    const next = op.kind === "create" ? nextCreated : isProbe(op) ? nextProbed : nextChanged;
    const result = next.next().value as Result;
    return tx.leads ? result : unproven(result);
  });
}

/**
 * At a source that may have been replaced without knowing it: what is there is so, and what is committed shows that it
 * leads; a refusal that rests on reads alone may rest on something that the source lacks.
 */
function unproven(result: Result): Result {
  const isProven =
    result.kind !== "answer" || result.pending || result.outcome.ok || isMisdirected(result.outcome.error);
  return isProven ? result : { kind: "answer", outcome: refused(mayBeReplaced()), pending: false };
}

/** Said of the stripe, not of an order; the proxy then asks another one. */
function isMisdirected({ code }: DomainError): boolean {
  return code === "MISDIRECTED";
}

/** Buckets whose roles the operations depend on. */
export function bucketsOf(ops: readonly Operation[]): number[] {
  return [...new Set(ops.flatMap((op) => (op.kind === "create" ? [op.input.bucket] : [])))];
}
