import type { RowDataPacket } from "../../runtime/mysql.ts";
import { type Phase, parseAckSet, type TripleRecord } from "../failover/record.ts";

export const RECORD_COLUMNS =
  "triple_id, stripe, epoch, phase, src, tenure, ack_set, owner, victim, u, version, " +
  "lease_until > UTC_TIMESTAMP(6) AS leased";

export interface TripleRow extends RowDataPacket {
  readonly triple_id: string;
  readonly stripe: number;
  readonly epoch: number;
  readonly phase: Phase;
  readonly src: string;
  readonly tenure: number;
  readonly ack_set: unknown;
  readonly owner: string;
  readonly victim: string | null;
  readonly u: string | null;
  readonly version: number;
  readonly leased: 0 | 1;
}

export interface StoredRecord {
  readonly record: TripleRecord;
  /** By the clock of the database, at the moment of the read. */
  readonly leased: boolean;
}

export function storedRecord(row: TripleRow): StoredRecord {
  const record = {
    tripleId: row.triple_id,
    stripe: row.stripe,
    epoch: Number(row.epoch),
    phase: row.phase,
    src: row.src,
    tenure: Number(row.tenure),
    ackSet: parseAckSet(row.ack_set),
    owner: row.owner,
    victim: row.victim,
    u: row.u,
    version: Number(row.version),
  };
  return { record, leased: row.leased === 1 };
}

export const RECOVERY_KINDS = ["LEAD", "SWITCHOVER", "ABORT", "NARROW", "REJOIN", "REBUILD", "SETTLE"] as const;
export type RecoveryKind = (typeof RECOVERY_KINDS)[number];
export type RecoveryOutcome = "DONE" | "BLOCKED" | "FAILED" | "UNDONE";

export interface NewRecovery {
  readonly recoveryId: string;
  readonly tripleId: string;
  readonly stripe: number;
  readonly kind: RecoveryKind;
  /** Code of the problem table. */
  readonly problem: string;
  readonly owner: string;
  readonly epoch: number;
  readonly srcBefore: string;
  readonly victim: string | null;
}

export interface RecoveryStep {
  readonly recoveryId: string;
  readonly owner: string;
  readonly epoch: number;
  readonly step: string;
  readonly server: string | null;
  readonly outcome: string;
  readonly tookMs: number;
  readonly detail: string | null;
  /** `YYYY-MM-DD HH:MM:SS.mmm` in UTC. */
  readonly time: string;
}

export interface RecoveryEnd {
  readonly recoveryId: string;
  /** Null: as it was begun. */
  readonly kind: RecoveryKind | null;
  readonly outcome: RecoveryOutcome;
  readonly srcAfter: string;
  readonly detail: string | null;
}
