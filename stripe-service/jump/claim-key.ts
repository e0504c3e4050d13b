// Step 1 of settling a jumped order, at the bucket's home: from the claim on the home cannot create another order of
// this number.
import { type Outcome, done, misdirected, refused, type Tx, writesRefused } from "../orders/tx.ts";
import { insertIndexRow, type Key, selectIndexRow } from "../db/index-rows.ts";

export interface Claim {
  readonly key: Key;
  /** The jumped order. */
  readonly transactionId: string;
  /** SHA-256, hex. */
  readonly requestHash: string;
}

/** What the index says of a number. */
export interface IndexPointer {
  readonly transactionId: string;
  readonly requestHash: string;
}

/** Makes the order the pointer of its number unless there is one. Not a create: a blocked or warm home takes it too. */
export async function claimKey(tx: Tx, { key, transactionId, requestHash }: Claim): Promise<Outcome<IndexPointer>> {
  const fault = notHome(tx, key.bucket);
  if (fault !== undefined) return refused(fault);
  if (await insertIndexRow(tx.db, key, transactionId, requestHash)) {
    await tx.journal({
      type: "INDEX_CLAIMED",
      mchid: key.mchid,
      outTradeNo: key.outTradeNo,
      data: { bucket: key.bucket, transaction_id: transactionId },
    });
    return done({ transactionId, requestHash });
  }
  return done(await pointerOf(tx, key));
}

/** The refusal of a stripe that takes no writes or is not the bucket's home; the bucket's role must have been read. */
export function notHome(tx: Tx, bucket: number): ReturnType<typeof misdirected> | undefined {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return fenced;
  if (tx.fence.buckets.get(bucket) === "HOME") return undefined;
  return misdirected("this stripe is not the bucket's home", tx.fence.routingVersion);
}

async function pointerOf(tx: Tx, key: Key): Promise<IndexPointer> {
  const row = await selectIndexRow(tx.db, key);
  if (row === undefined) throw new Error("a key that exists has no row");
  return { transactionId: row.transaction_id, requestHash: row.request_hash.toString("hex") };
}
