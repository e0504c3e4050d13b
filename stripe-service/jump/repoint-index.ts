// Step 4a, at the bucket's home, after the order that the index names has yielded: the pointer moves by compare-and-set.
// A pointer that was replaced never returns, so comparing the number is enough.
import { DomainError } from "../../core/errors.ts";
import { type Key, lockIndexRow, updatePointer } from "../db/index-rows.ts";
import { done, type Outcome, refused, type Tx } from "../orders/tx.ts";
import { type IndexPointer, notHome } from "./claim-key.ts";

export interface Repoint {
  readonly key: Key;
  readonly from: string;
  readonly to: string;
  /** SHA-256, hex, of the order that it points to then. */
  readonly requestHash: string;
}

/** Moves the pointer from one order to another. @returns what the pointer is now, which may be a third order */
export async function repointIndex(tx: Tx, { key, from, to, requestHash }: Repoint): Promise<Outcome<IndexPointer>> {
  const fault = notHome(tx, key.bucket);
  if (fault !== undefined) return refused(fault);
  const row = await lockIndexRow(tx.db, key);
  if (row === undefined) return refused(new DomainError("STATE_NOT_ALLOWED", "the number was never claimed here"));
  if (row.transaction_id !== from) {
    return done({ transactionId: row.transaction_id, requestHash: row.request_hash.toString("hex") });
  }
  if (!(await updatePointer(tx.db, key, from, to, requestHash))) throw new Error("a locked pointer changed");
  await tx.journal({
    type: "INDEX_REPOINTED",
    mchid: key.mchid,
    outTradeNo: key.outTradeNo,
    data: { bucket: key.bucket, from, to },
  });
  return done({ transactionId: to, requestHash });
}
