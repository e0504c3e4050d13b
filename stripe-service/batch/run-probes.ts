import type { RowLock } from "../db/order-sets.ts";
import { closeProbe, createProbe } from "../probe/probe-orders.ts";
import type { Tx } from "../orders/tx.ts";
import type { ProbeOperation, Result } from "./operations.ts";

/** Runs the health checkers' operations of a batch: seldom more than one. @returns a result for each, in their order */
export async function runProbes(tx: Tx, ops: readonly ProbeOperation[], lock: RowLock): Promise<Result[]> {
  const results: Result[] = [];
  for (const op of ops) {
    const outcome =
      op.kind === "probe-create" ? await createProbe(tx, op.probe) : await closeProbe(tx, op.probeId, lock);
    // Whatever it says rests on its own row, and that may have been written just now.
    results.push(
      outcome === "held" ? { kind: "held" } : { kind: "answer", outcome, pending: outcome.ok && tx.written },
    );
  }
  return results;
}
