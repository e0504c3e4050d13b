// What a health checker's order goes through: the fence, an insert, a conditional close, commits that a replica
// acknowledges; all that a merchant's order needs but the journal, as probes are no part of the stripe's data.
import { DomainError } from "../../core/errors.ts";
import type { WireProbe, WireProbeOrder } from "../../core/schemas/wire-verdicts.ts";
import type { Instant } from "../../core/time.ts";
import type { RowLock } from "../db/order-sets.ts";
import {
  insertProbeOrder,
  lockProbeOrder,
  markProbeClosed,
  purgeProbeOrders,
  selectProbeOrder,
} from "../db/probe-orders.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "../orders/tx.ts";

/** A probe order is looked at for a second; what is older is removed by the probes that follow. */
const KEEP_MS = 60_000;
/** More than probes can add between two purges, so that a pile that an outage left goes away too. */
const PURGE_MAX = 50;

/** Not asked for: whether the stripe takes new orders. A warm or cold stripe is probed like a hot one. */
export async function createProbe(tx: Tx, { probe_id: probeId, checker }: WireProbe): Promise<Outcome<WireProbeOrder>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const found = await selectProbeOrder(tx.db, probeId);
  if (found !== undefined) return done(found);
  await insertProbeOrder(tx.db, probeId, checker, tx.now);
  tx.wroteProbe();
  return done({ probe_id: probeId, state: "OPEN", version: 1 });
}

/** Closes it, once; removes old ones. @returns `held` when, with `SKIP`, others have the row */
export async function closeProbe(tx: Tx, probeId: string, lock: RowLock): Promise<Outcome<WireProbeOrder> | "held"> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  if (!(await lockProbeOrder(tx.db, probeId, lock))) {
    return (await selectProbeOrder(tx.db, probeId)) === undefined ? refused(probeNotExist()) : "held";
  }
  const closed = await markProbeClosed(tx.db, probeId);
  const row = await selectProbeOrder(tx.db, probeId);
  if (row === undefined) return refused(probeNotExist());
  if (!closed) return done(row);
  await purgeProbeOrders(tx.db, before(tx.now), PURGE_MAX);
  tx.wroteProbe();
  return done(row);
}

export function probeNotExist(): DomainError {
  return new DomainError("ORDER_NOT_EXIST", "there is no such probe order");
}

function before(now: Instant): Instant {
  return new Date(Date.parse(now) - KEEP_MS).toISOString();
}
