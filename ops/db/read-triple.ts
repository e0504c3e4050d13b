import type { Knex } from "knex";
import type { TripleView } from "../../core/schemas/ops.ts";
import { fromDbTime } from "../../core/time.ts";

const RECOVERIES_SHOWN = 10;

interface TripleRow {
  epoch: number;
  phase: string;
  src: string;
  tenure: number;
  /** JSON array; the driver parses it. */
  ack_set: string[];
  owner: string;
}

interface RecoveryRow {
  recovery_id: string;
  kind: string;
  problem: string;
  src_before: string;
  src_after: string | null;
  victim: string | null;
  outcome: string | null;
  detail: string | null;
  start_time: string;
  finish_time: string | null;
}

/** The record of a triple and its newest recoveries; null before the triple was first opened. */
export async function readTriple(control: Knex, tripleId: string): Promise<TripleView | null> {
  const row = (await control("triples")
    .where({ triple_id: tripleId })
    .first("epoch", "phase", "src", "tenure", "ack_set", "owner")) as TripleRow | undefined;
  if (row === undefined) return null;
  const recoveries = (await control("recoveries")
    .where({ triple_id: tripleId })
    .orderBy([
      { column: "start_time", order: "desc" },
      { column: "epoch", order: "desc" },
    ])
    .limit(RECOVERIES_SHOWN)) as RecoveryRow[];
  return {
    source: row.src,
    epoch: row.epoch,
    phase: row.phase,
    tenure: row.tenure,
    ack_set: row.ack_set,
    led_by: row.owner,
    recoveries: recoveries.map((r) => ({
      recovery_id: r.recovery_id,
      kind: r.kind,
      problem: r.problem,
      source_before: r.src_before,
      source_after: r.src_after,
      victim: r.victim,
      outcome: r.outcome,
      detail: r.detail,
      start_time: fromDbTime(r.start_time),
      finish_time: r.finish_time === null ? null : fromDbTime(r.finish_time),
    })),
  };
}
