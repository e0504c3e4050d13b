// Everything that the problem table may look at, and the words it is written in. All functions are pure.
import type { AgentState, MysqlState } from "../../core/agent-wire.ts";
import { type GtidSet, parseGtidSet, unionOf } from "./gtid-set.ts";
import type { TripleRecord } from "./record.ts";
import type { Condition, ServerView } from "./server-view.ts";
import { AGENT_LOST_POLLS, AGENT_SILENT_MS } from "./thresholds.ts";

/** What a leader remembers between two looks. A new leader begins with nothing of it. */
export interface Memory {
  readonly beganMs: number;
  /** Repairs of each server that were begun lately. */
  readonly repairs: ReadonlyMap<string, { readonly count: number; readonly lastMs: number }>;
  /** Servers that are being rebuilt by this leader now. */
  readonly rebuilding: ReadonlySet<string>;
  /** Servers that hold what the source lacks, as a comparison under an epoch has shown. */
  readonly mustRebuild: ReadonlySet<string>;
  /** When receivers were first restarted because this beat hangs; null while it does not. */
  readonly receiversRestartedMs: number | null;
  readonly sourceChangedMs: number | null;
  readonly wholeSinceChange: boolean;
  readonly sourceKilledMs: number | null;
  /** Recoveries of the whole triple that got stuck, and when the last one did. */
  readonly lastBlockedMs: number | null;
  readonly blockedInARow: number;
  /** S(src) as read when it began to lead, or later; a follower that holds it takes src's place in the ack-set. */
  readonly settleBase: GtidSet | null;
}

export interface Snapshot {
  readonly nowMs: number;
  readonly record: TripleRecord | null;
  /** In the order of the configuration. */
  readonly views: readonly ServerView[];
  readonly memory: Memory;
  /** A person has confirmed that the row of this triple may be made anew from what its servers say. */
  readonly recordLostConfirmed: boolean;
  /** A switchover that an operator asks for: server, or null = any. */
  readonly switchover: { readonly requestId: string; readonly target: string | null } | null;
  /** A runtime assertion that failed; nothing is done any more. */
  readonly halted: string | null;
}

export const freshMemory = (nowMs: number): Memory => ({
  beganMs: nowMs,
  repairs: new Map(),
  rebuilding: new Set(),
  mustRebuild: new Set(),
  receiversRestartedMs: null,
  sourceChangedMs: null,
  wholeSinceChange: true,
  sourceKilledMs: null,
  lastBlockedMs: null,
  blockedInARow: 0,
  settleBase: null,
});

/** S(server): everything executed or received. */
export function setOf(mysql: MysqlState): GtidSet {
  return unionOf(parseGtidSet(mysql.executed), parseGtidSet(mysql.retrieved));
}

export function agentAnswers(view: ServerView, nowMs: number): boolean {
  return view.state !== null && view.failures === 0 && nowMs - view.answeredAtMs < AGENT_SILENT_MS;
}

/** Not merely late: refused or silent often enough. */
export function agentGone(view: ServerView, nowMs: number): boolean {
  return view.failures >= AGENT_LOST_POLLS || (view.failures > 0 && nowMs - view.answeredAtMs >= AGENT_SILENT_MS);
}

export function answering(view: ServerView, nowMs: number): AgentState | null {
  return agentAnswers(view, nowMs) ? view.state : null;
}

/** Agent and mysqld answer: a revoke would be answered too. */
export function mysqlOf(view: ServerView, nowMs: number): MysqlState | null {
  return answering(view, nowMs)?.mysql ?? null;
}

/** As `mysqlOf`, and the data counts. */
export function readable(view: ServerView, nowMs: number): boolean {
  return mysqlOf(view, nowMs) !== null && view.state?.data === "VALID";
}

export function heldFor(view: ServerView, condition: Condition, nowMs: number): number {
  const since = view.since[condition];
  return since === null ? 0 : Math.max(0, nowMs - since);
}

/** By its own agent's word, `view` receives from the server that the record calls the source. */
export function receivesFromSource(view: ServerView, source: ServerView, record: TripleRecord, nowMs: number): boolean {
  const mysql = mysqlOf(view, nowMs);
  if (mysql?.receiver?.receiving !== true) return false;
  const sourceUuid = source.state?.mysql?.serverUuid;
  if (sourceUuid !== undefined && mysql.receiver.sourceUuid !== "") return mysql.receiver.sourceUuid === sourceUuid;
  return view.state?.file?.followSource === record.src;
}
