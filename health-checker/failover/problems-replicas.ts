// Rows of the problem table that are about the two others, with the source open. Each is about one server at a time:
// the first that it matches.
import { otherMemberReceives, switchoverTarget, type Facts, type ReplicaFacts } from "./facts.ts";
import { isSubset } from "./gtid-set.ts";
import { heldFor, setOf } from "./snapshot.ts";
import {
  BROKEN_FOR_MS,
  LAG_MAX_MS,
  NARROW_AFTER_MS,
  NARROW_NOT_RECEIVING_MS,
  NOT_RECEIVING_MS,
  REJOINS_BEFORE_REBUILD,
} from "./thresholds.ts";
import type { Match, ProblemRow } from "./problem.ts";

/** The source has purged what the replica needs, or its binary log cannot be read. */
const FATAL_IO_ERRORS: ReadonlySet<number> = new Set([1236, 13114]);

function row(
  code: string,
  page: boolean,
  of: (replica: ReplicaFacts, facts: Facts) => Match["recovery"] | "no" | "wait",
): ProblemRow {
  return {
    code,
    blocks: false,
    page,
    matches(facts) {
      if (!facts.sourceOpen || facts.record.phase !== "IDLE") return null;
      const found = facts.replicas
        .map((replica) => ({ server: replica.name, recovery: of(replica, facts) }))
        .filter((match) => match.recovery !== "no");
      const best = found.find(({ recovery }) => recovery !== "wait" && recovery !== null) ?? found[0];
      if (best === undefined) return null;
      return {
        server: best.server,
        recovery: best.recovery === "wait" || best.recovery === "no" ? null : best.recovery,
      };
    },
  };
}

const rejoin = (server: string, rebuild = false): Match["recovery"] => ({ do: "rejoin", server, rebuild });

/** A member's data is thrown away only after it was dropped from the ack-set. */
function rebuildOf(replica: ReplicaFacts, facts: Facts): Match["recovery"] | "wait" {
  if (replica.repairWaits && !replica.member) return "wait";
  if (!replica.member) return rejoin(replica.name, true);
  if (facts.beatHangsMs > 0 || !otherMemberReceives(facts, replica.name)) return "wait";
  return { do: "narrow", server: replica.name };
}

/** An old source that came back to life; its clients wait for acknowledgements that nobody will send. */
const writable = row("OLD_SOURCE_OPEN", true, (replica) => {
  if (!replica.readable || !replica.writable) return "no";
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

const isVoid = row("REPLICA_VOID", true, (replica, facts) => {
  return replica.isVoid ? rebuildOf(replica, facts) : "no";
});

const errant = row("REPLICA_ERRANT", true, (replica, facts) => {
  return replica.readable && replica.errant ? rebuildOf(replica, facts) : "no";
});

/** Restarted, or stopped by a recovery that did not need it. */
const closed = row("REPLICA_CLOSED", false, (replica) => {
  if (!replica.readable || replica.role !== "closed") return "no";
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

const broken = row("REPLICA_BROKEN", true, (replica, facts) => {
  const { nowMs } = facts;
  const receiver = replica.view.state?.mysql?.receiver;
  if (!replica.readable || !receiver) return "no";
  const applier = heldFor(replica.view, "applierBroken", nowMs) >= BROKEN_FOR_MS;
  const fatal = FATAL_IO_ERRORS.has(receiver.ioErrno) && heldFor(replica.view, "notReceiving", nowMs) >= BROKEN_FOR_MS;
  if (!applier && !fatal) return "no";
  if (replica.repairs >= REJOINS_BEFORE_REBUILD) return rebuildOf(replica, facts);
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

const notReceiving = row("REPLICA_NOT_RECEIVING", false, (replica, { nowMs }) => {
  if (!replica.readable || replica.receives || replica.role === "closed") return "no";
  if (heldFor(replica.view, "notReceiving", nowMs) < NOT_RECEIVING_MS) return "no";
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

const oddRole = row("REPLICA_ODD_ROLE", false, (replica, { nowMs }) => {
  if (!replica.readable || heldFor(replica.view, "oddRole", nowMs) < BROKEN_FOR_MS) return "no";
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

function narrowIfSafe(replica: ReplicaFacts, facts: Facts): Match["recovery"] | "wait" {
  if (facts.beatHangsMs > 0 || !otherMemberReceives(facts, replica.name)) return "wait";
  return { do: "narrow", server: replica.name };
}

/** Cannot be read, so a crash of the source now could not be survived: it is dropped from the ack-set. */
const lost = row("REPLICA_LOST", true, (replica, facts) => {
  const { view, member, readable } = replica;
  const awayMs = Math.max(heldFor(view, "gone", facts.nowMs), heldFor(view, "silent", facts.nowMs));
  if (!member || readable || awayMs < NARROW_AFTER_MS) return "no";
  return narrowIfSafe(replica, facts);
});

const cutOff = row("REPLICA_CUT_OFF", true, (replica, facts) => {
  const { view, member, readable, receives } = replica;
  if (!member || !readable || receives) return "no";
  if (heldFor(view, "notReceiving", facts.nowMs) < NARROW_NOT_RECEIVING_MS) return "no";
  return narrowIfSafe(replica, facts);
});

/** The source covers acknowledged writes itself until a follower has caught up. */
const unsettled = row("UNSETTLED", false, (replica, { record, memory }) => {
  if (!record.ackSet.includes(record.src)) return "no";
  const mysql = replica.view.state?.mysql;
  if (!replica.member || !replica.receives || !mysql?.replicaArmed || memory.settleBase === null) return "wait";
  return isSubset(memory.settleBase, setOf(mysql)) ? { do: "settle" } : "wait";
});

const away = row("REPLICA_AWAY", true, ({ readable, isVoid: data }) => (readable || data ? "no" : null));

const outside = row("REPLICA_OUTSIDE", false, (replica) => {
  if (!replica.readable || replica.member || replica.role !== "follower") return "no";
  return replica.repairWaits ? "wait" : rejoin(replica.name);
});

const lagging = row("REPLICA_LAGGING", false, ({ readable, view }) => {
  return readable && (view.state?.lagMs ?? 0) > LAG_MAX_MS ? null : "no";
});

const alarmed = row("REPLICA_ALARM", true, ({ answers, view }) => {
  return answers && (view.state?.alarms.length ?? 0) > 0 ? null : "no";
});

/** Last of all: a switchover begins only on a triple that has no other problem. */
const switchover: ProblemRow = {
  code: "SWITCHOVER_REQUESTED",
  blocks: false,
  page: false,
  matches(facts) {
    const { switchover: request } = facts.snapshot;
    if (request === null) return null;
    const check = switchoverTarget(facts, request.target);
    if ("target" in check) return { server: check.target, recovery: { do: "switchover", request, ...check } };
    const refuse = { do: "refuse-switchover", request, reason: check.refused } as const;
    return { recovery: check.forGood ? refuse : null, detail: check.refused };
  },
};

export const REPLICA_ROWS: readonly ProblemRow[] = [
  writable,
  isVoid,
  errant,
  closed,
  broken,
  outside,
  notReceiving,
  oddRole,
  lost,
  cutOff,
  unsettled,
  away,
  lagging,
  alarmed,
  switchover,
];
