// The steps of a bucket's move from one home to another that run in the stripes. A bucket leaves a stripe only through
// the fence in that stripe's own database, and every step names the move's epoch: one that comes late, from an earlier
// move or a second mover, changes nothing.
import { DomainError } from "../../core/errors.ts";
import type { BucketRole } from "../../core/order-states.ts";
import type { WireIndexRow } from "../../core/schemas/wire-jump.ts";
import { type BucketStateRow, selectBucketState, selectMoving, upsertBucketState } from "../db/bucket-state.ts";
import { lockPendingHandoffs, updateHandoffState } from "../db/handoffs.ts";
import { insertIndexRow, type Key, upsertIndexRows } from "../db/index-rows.ts";
import { journalHandoff } from "../jump/journal.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";

export interface BucketState {
  readonly role: BucketRole | null;
  readonly moveEpoch: number;
}

/** Own pending handoffs that become index rows with the activation; the resolver settles any others. */
const CONVERT_MAX = 200;

type Step = (row: BucketStateRow | undefined) => Promise<BucketState | undefined>;

/** Runs a step with the bucket's row locked: `step` gives the state after it, or undefined when it is not allowed. */
async function locked(tx: Tx, bucket: number, what: string, step: Step): Promise<Outcome<BucketState>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  if (await selectMoving(tx.db)) return refused(notNow("the stripe itself is on the move", undefined));
  const row = await selectBucketState(tx.db, bucket, "UPDATE");
  const state = await step(row);
  if (state === undefined) return refused(notNow(`the bucket cannot be ${what}`, row));
  return done(state);
}

function notNow(detail: string, row: BucketStateRow | undefined): DomainError {
  const conflict = row === undefined ? { role: null } : { role: row.role, move_epoch: row.move_epoch };
  return new DomainError("STATE_NOT_ALLOWED", detail, { conflict });
}

async function setRole(tx: Tx, bucket: number, role: BucketRole, moveEpoch: number): Promise<BucketState> {
  await upsertBucketState(tx.db, bucket, role, moveEpoch);
  await tx.journal({ type: "BUCKET_ROLE_CHANGED", data: { bucket, role, move_epoch: moveEpoch } });
  return { role, moveEpoch };
}

/** At the new home: takes the bucket's rows from now on. A bucket that this move has brought home already stays so. */
export function startImport(tx: Tx, bucket: number, moveEpoch: number): Promise<Outcome<BucketState>> {
  return locked(tx, bucket, "imported", async (row) => {
    if (row?.move_epoch === moveEpoch && row.role !== "MOVED") return { role: row.role, moveEpoch };
    if (row !== undefined && (row.role === "HOME" || row.move_epoch >= moveEpoch)) return undefined;
    return setRole(tx, bucket, "IMPORTING", moveEpoch);
  });
}

/** At the old home: waits for every create, claim and repoint that holds the bucket; after it nothing more changes. */
export function fenceBucket(tx: Tx, bucket: number, moveEpoch: number): Promise<Outcome<BucketState>> {
  return locked(tx, bucket, "fenced", async (row) => {
    if (row?.role === "MOVED" && row.move_epoch === moveEpoch) return { role: "MOVED", moveEpoch };
    if (row?.role !== "HOME" || row.move_epoch >= moveEpoch) return undefined;
    return setRole(tx, bucket, "MOVED", moveEpoch);
  });
}

/** At the new home: overwrites rows, as long as the bucket is being imported by this very move. @returns how many */
export async function importRows(
  tx: Tx,
  bucket: number,
  moveEpoch: number,
  rows: readonly WireIndexRow[],
): Promise<Outcome<number>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const row = await selectBucketState(tx.db, bucket, "SHARE");
  if (row?.role !== "IMPORTING" || row.move_epoch !== moveEpoch) {
    return refused(notNow("the bucket is not being imported by this move", row));
  }
  await upsertIndexRows(tx.db, bucket, rows);
  await tx.journal(
    ...rows.map((r) => ({
      type: "INDEX_IMPORTED" as const,
      mchid: r.mchid,
      outTradeNo: r.out_trade_no,
      data: { bucket, move_epoch: moveEpoch, transaction_id: r.transaction_id },
    })),
  );
  return done(rows.length);
}

/** At the new home, once all rows are here: it is home. Its own pending handoffs of new numbers become index rows. */
export function activateBucket(tx: Tx, bucket: number, moveEpoch: number): Promise<Outcome<BucketState>> {
  return locked(tx, bucket, "activated", async (row) => {
    if (row?.move_epoch !== moveEpoch || row.role === "MOVED") return undefined;
    if (row.role === "HOME") return { role: "HOME", moveEpoch };
    await convertHandoffs(tx, bucket);
    return setRole(tx, bucket, "HOME", moveEpoch);
  });
}

async function convertHandoffs(tx: Tx, bucket: number): Promise<void> {
  for (const handoff of await lockPendingHandoffs(tx.db, bucket, CONVERT_MAX)) {
    const key: Key = { bucket, mchid: handoff.mchid, outTradeNo: handoff.outTradeNo };
    const { transaction_id: transactionId } = handoff;
    if (!(await insertIndexRow(tx.db, key, transactionId, handoff.request_hash.toString("hex")))) continue;
    await updateHandoffState(tx.db, key, "DONE");
    await tx.journal({
      type: "INDEX_CLAIMED",
      mchid: key.mchid,
      outTradeNo: key.outTradeNo,
      data: { bucket, transaction_id: transactionId },
    });
    await journalHandoff(tx, key, transactionId, "DONE");
  }
}
