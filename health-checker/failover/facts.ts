// What the rows of the problem table are about: the source, the two others, who is in the ack-set, who receives.
import type { MysqlState, ServerRole } from "../../core/agent-wire.ts";
import { isEmpty, subtract, withoutUuid } from "./gtid-set.ts";
import type { TripleRecord } from "./record.ts";
import type { ServerView } from "./server-view.ts";
import {
  agentAnswers,
  agentGone,
  answering,
  heldFor,
  mysqlOf,
  readable,
  receivesFromSource,
  setOf,
  type Memory,
  type Snapshot,
} from "./snapshot.ts";
import {
  AFTER_RECEIVERS_MS,
  ANTI_FLAP_GONE_MS,
  ANTI_FLAP_MS,
  REPAIR_BACKOFF_MAX_MS,
  REPAIR_BACKOFF_MIN_MS,
  REPAIR_FORGET_MS,
  SILENT_LOOKS,
  SILENT_MS,
  SOURCE_START_GRACE_MS,
  SWITCHOVER_LAG_MAX_MS,
} from "./thresholds.ts";

const ROLES_OF_A_SOURCE: readonly ServerRole[] = ["open", "prepared"];

export interface ReplicaFacts {
  readonly name: string;
  readonly view: ServerView;
  readonly answers: boolean;
  readonly gone: boolean;
  readonly readable: boolean;
  readonly receives: boolean;
  readonly role: ServerRole | null;
  readonly member: boolean;
  readonly isVoid: boolean;
  /** A repair of it is under way, or was tried a moment ago. */
  readonly repairWaits: boolean;
  readonly repairs: number;
  readonly errant: boolean;
  readonly writable: boolean;
  /** It answers, and its data is to be replaced before it can acknowledge; it is outside the ack-set. */
  readonly needsRebuild: boolean;
}

export interface Facts {
  readonly nowMs: number;
  readonly snapshot: Snapshot;
  readonly memory: Memory;
  readonly record: TripleRecord;
  readonly source: ServerView;
  readonly replicas: readonly ReplicaFacts[];
  readonly sourceAnswers: boolean;
  readonly sourceGone: boolean;
  readonly sourceReadable: boolean;
  /** Agent and mysqld answer, and clients can write there. */
  readonly sourceOpen: boolean;
  readonly sourceMysql: MysqlState | null;
  /** Its agent says that the process has ended, or that it is another process than the one that was open. */
  readonly sourceDead: boolean;
  /** The process is there, and does not answer its own agent. */
  readonly sourceHung: boolean;
  readonly beatHangsMs: number;
  /** Every member of the ack-set would answer a revoke: Q1 can be reached. */
  readonly membersReadable: boolean;
  readonly receiversJustRestarted: boolean;
  readonly receiversWereRestarted: boolean;
}

/** @throws Error when the record names a server that the configuration does not have */
export function factsOf(snapshot: Snapshot, record: TripleRecord): Facts {
  const { nowMs, views, memory } = snapshot;
  const source = viewNamed(views, record.src);
  const sourceMysql = mysqlOf(source, nowMs);
  const replicas = views.filter((view) => view !== source).map((view) => replicaFacts(snapshot, record, source, view));
  const restarted = memory.receiversRestartedMs;
  return {
    nowMs,
    snapshot,
    memory,
    record,
    source,
    replicas,
    sourceAnswers: agentAnswers(source, nowMs),
    sourceGone: agentGone(source, nowMs),
    sourceReadable: readable(source, nowMs),
    sourceOpen: sourceMysql !== null && source.state?.role === "open",
    sourceMysql,
    sourceDead: isDead(source, nowMs),
    sourceHung: isHung(source, nowMs),
    beatHangsMs: heldFor(source, "beatHangs", nowMs),
    membersReadable: record.ackSet.every((name) => readable(viewNamed(views, name), nowMs)),
    receiversJustRestarted: restarted !== null && restarted > nowMs - AFTER_RECEIVERS_MS,
    receiversWereRestarted: restarted !== null,
  };
}

export function viewNamed(views: readonly ServerView[], name: string): ServerView {
  const view = views.find((candidate) => candidate.name === name);
  if (view === undefined) throw new Error(`the record names ${name}, which is no server of this triple`);
  return view;
}

function replicaFacts(snapshot: Snapshot, record: TripleRecord, source: ServerView, view: ServerView): ReplicaFacts {
  const { nowMs, memory } = snapshot;
  const state = answering(view, nowMs);
  const mysql = state?.mysql ?? null;
  const repairs = memory.repairs.get(view.name);
  const errant =
    state?.data === "VALID" &&
    mysql !== null &&
    (memory.mustRebuild.has(view.name) || holdsForeign(source, view, mysql));
  const member = record.ackSet.includes(view.name);
  const rebuilding = memory.rebuilding.has(view.name) || state?.busy?.command === "rebuild-from";
  return {
    name: view.name,
    view,
    answers: state !== null,
    gone: agentGone(view, nowMs),
    readable: readable(view, nowMs),
    receives: receivesFromSource(view, source, record, nowMs),
    role: state?.role ?? null,
    member,
    isVoid: state?.data === "VOID" && mysql !== null,
    repairWaits: rebuilding || !repairIsDue(repairs, nowMs),
    repairs: repairs === undefined || nowMs - repairs.lastMs > REPAIR_FORGET_MS ? 0 : repairs.count,
    errant,
    needsRebuild: !member && state !== null && (state.data === "VOID" || errant),
    writable: mysql !== null && (!mysql.superReadOnly || ROLES_OF_A_SOURCE.includes(state?.role ?? "down")),
  };
}

/** Waits twice as long after every attempt. */
function repairIsDue(repairs: { readonly count: number; readonly lastMs: number } | undefined, nowMs: number): boolean {
  if (repairs === undefined || repairs.count === 0) return true;
  const waitMs = Math.min(REPAIR_BACKOFF_MAX_MS, REPAIR_BACKOFF_MIN_MS * 2 ** (repairs.count - 1));
  return nowMs - repairs.lastMs >= waitMs;
}

/**
 * Holds a transaction that the source lacks and did not begin itself. One that the source began may be on its way to
 * its acknowledgement; no other kind can be missing there.
 */
function holdsForeign(source: ServerView, view: ServerView, mysql: MysqlState): boolean {
  const sourceState = source.state;
  const sourceMysql = sourceState?.mysql ?? null;
  if (sourceMysql === null || sourceState?.role !== "open" || source.askedAtMs < view.askedAtMs) return false;
  return !isEmpty(withoutUuid(subtract(setOf(mysql), setOf(sourceMysql)), sourceMysql.serverUuid));
}

/** Its agent says that the process has ended, or is another one than the one that was open. */
export function isDead(source: ServerView, nowMs: number): boolean {
  const state = answering(source, nowMs);
  if (state === null || state.mysql !== null) return false;
  const replaced = source.openPid !== null && state.process.pid !== null && state.process.pid !== source.openPid;
  return state.process.running === false || replaced;
}

function isHung(source: ServerView, nowMs: number): boolean {
  const state = answering(source, nowMs);
  if (state === null || state.mysql !== null || isDead(source, nowMs)) return false;
  const silentMs = heldFor(source, "silent", nowMs);
  if (source.openPid === null) return silentMs >= SOURCE_START_GRACE_MS;
  const long = state.beat?.hangs === true || silentMs >= SILENT_MS;
  return source.silentLooks >= SILENT_LOOKS && long;
}

/**
 * A change of source by itself is not followed by another unless the triple was whole meanwhile: a cause that moves
 * with the source would be chased in circles. A source that stays away is an exception, whatever the cause.
 */
export function mayChangeSource({ memory, nowMs, source }: Facts): boolean {
  if (memory.sourceChangedMs === null || memory.wholeSinceChange) return true;
  if (nowMs - memory.sourceChangedMs >= ANTI_FLAP_MS) return true;
  const awayMs = Math.max(heldFor(source, "gone", nowMs), heldFor(source, "silent", nowMs));
  return awayMs >= ANTI_FLAP_GONE_MS;
}

/** Another member than `name` and the source receives: dropping `name` leaves somebody who acknowledges. */
export function otherMemberReceives({ replicas }: Facts, name: string): boolean {
  return replicas.some((replica) => replica.name !== name && replica.member && replica.receives);
}

/** Source open, beat committing, both replicas in the ack-set and receiving, nothing else left to do. */
export function isWhole(facts: Facts): boolean {
  const { record, replicas, sourceOpen, beatHangsMs } = facts;
  const quiet = record.phase === "IDLE" && sourceOpen && beatHangsMs === 0 && !record.ackSet.includes(record.src);
  return quiet && replicas.every((replica) => replica.member && replica.receives && !replica.errant);
}

/**
 * Where a switchover may lead away from a source that was touched: a member that receives. Its lag is not known, the
 * beat stands still there; one that does not catch up in time leaves the old source leading.
 */
export function receivingTarget({ replicas }: Facts, wanted: string | null): string | null {
  const able = replicas.filter(({ name, member, receives, errant }) => {
    return member && receives && !errant && (wanted === null || name === wanted);
  });
  return able[0]?.name ?? null;
}

/**
 * Pre-checks of a switchover on a whole triple: where to, or why not now.
 * @param wanted null = the replica that lags least
 */
export function switchoverTarget(
  facts: Facts,
  wanted: string | null,
): { readonly target: string } | { readonly refused: string; readonly forGood: boolean } {
  const { record, replicas, sourceMysql } = facts;
  if (wanted === record.src) return { refused: `${wanted} is the source`, forGood: true };
  const candidates = replicas.filter(({ name }) => wanted === null || name === wanted);
  const lags = candidates.map(({ name, view }) => ({ name, lagMs: view.state?.lagMs ?? Infinity }));
  const best = lags.toSorted((a, b) => a.lagMs - b.lagMs)[0];
  if (best === undefined) return { refused: `${wanted} is no server of this triple`, forGood: true };
  if (!isWhole(facts)) return { refused: "the triple is not whole", forGood: false };
  if (best.lagMs > SWITCHOVER_LAG_MAX_MS) {
    const lag = best.lagMs === Infinity ? "has not told its lag" : `lags ${best.lagMs} ms`;
    return { refused: `${best.name} ${lag}`, forGood: false };
  }
  if (sourceMysql === null) return { refused: "the source does not answer", forGood: false };
  return { target: best.name };
}
