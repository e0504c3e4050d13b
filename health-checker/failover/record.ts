// The record of a triple: one row of the control database, changed only by compare-and-set. What each phase may mean to
// somebody who finds it is told in the specification of the failover; here are its shape and its transitions.
import { z } from "zod";

export const PHASES = ["IDLE", "REVOKE", "PROMOTE", "NARROW"] as const;
export type Phase = (typeof PHASES)[number];

export interface TripleRecord {
  readonly tripleId: string;
  readonly stripe: number;
  /** Fencing number: grows with each new owner and each start of REVOKE, NARROW, REJOIN, REBUILD and ABORT. */
  readonly epoch: number;
  readonly phase: Phase;
  /** A server whose data contains every acknowledged write. */
  readonly src: string;
  /** Epoch at which `src` was first recorded; 0 = no server of this triple was ever opened. */
  readonly tenure: number;
  /** Contains every server that can acknowledge, and each acknowledged write is in one of its members. Sorted. */
  readonly ackSet: readonly string[];
  readonly owner: string;
  /** The member that NARROW drops. */
  readonly victim: string | null;
  /** Union that the last candidate had to contain; for people, no decision reads it. */
  readonly u: string | null;
  /** Grows with every compare-and-set, so that a late statement of ours never matches again. */
  readonly version: number;
}

/** What a compare-and-set changes. */
export type RecordChange = Partial<
  Pick<TripleRecord, "epoch" | "phase" | "src" | "tenure" | "ackSet" | "victim" | "u">
>;

const ackSetSchema = z.array(z.string()).max(8);

/** @throws Error when the column holds anything else than a list of server names */
export function parseAckSet(json: unknown): string[] {
  return ackSetSchema.parse(typeof json === "string" ? JSON.parse(json) : json);
}

export function withMembers(ackSet: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...ackSet, ...more])].sort();
}

export function withoutMember(ackSet: readonly string[], member: string): string[] {
  return ackSet.filter((name) => name !== member);
}

/** The record after a confirmed compare-and-set. */
export function applyChange(record: TripleRecord, change: RecordChange): TripleRecord {
  return { ...record, ...change, version: record.version + 1 };
}
