// A handoff that cannot be settled for a reason that waiting for a stripe will not mend (an answer nobody expected) is
// put off for longer, so that it does not use up the resolver's time, and is told to people by its journal row.
import { deferHandoff } from "../db/handoffs.ts";
import type { Key } from "../db/index-rows.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";

export async function putOffHandoff(tx: Tx, key: Key, delayMs: number, reason: string): Promise<Outcome<void>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const nextTry = new Date(Date.parse(tx.now) + delayMs).toISOString();
  if (await deferHandoff(tx.db, key, nextTry)) {
    await tx.journal({
      type: "HANDOFF_DEFERRED",
      mchid: key.mchid,
      outTradeNo: key.outTradeNo,
      data: { reason, next_try: nextTry },
    });
  }
  return done(undefined);
}
