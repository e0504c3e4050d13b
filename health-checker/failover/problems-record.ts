// Rows of the problem table that are about the record: assertions that do not hold, and recoveries that were left
// unfinished by whoever led before.
import { otherMemberReceives, receivingTarget, type Facts } from "./facts.ts";
import { answering, heldFor } from "./snapshot.ts";
import { NOT_RECEIVING_MS } from "./thresholds.ts";
import type { ProblemRow } from "./problem.ts";

const RETRY_BLOCKED_MS = 1_000;
/** Tries to go on with a recorded promotion before it is revoked and decided anew. */
const RESUMES_MAX = 2;

/** Agents have heard of a newer epoch than the record's: the control database was set back in time. */
const recordBehind: ProblemRow = {
  code: "RECORD_BEHIND",
  blocks: true,
  page: true,
  matches({ snapshot, record, nowMs }) {
    const ahead = snapshot.views.find((view) => (answering(view, nowMs)?.file?.epoch ?? 0) > record.epoch);
    return ahead === undefined ? null : { server: ahead.name, recovery: null, detail: "its epoch is newer" };
  },
};

/**
 * Somebody or something has touched an open source: what it has acknowledged since may be on no replica. The source
 * becomes a member of the ack-set, so that nobody leads without its set; then it is left alone for a person, whose way
 * out is a switchover: it closes the source and opens a server that holds everything the source has.
 */
const sourceTampered: ProblemRow = {
  code: "SEMISYNC_TAMPERED",
  blocks: true,
  page: true,
  matches(facts) {
    const { source, sourceMysql, record, snapshot } = facts;
    // A closed one takes no write; what its agent has against it, it says to every command.
    if (sourceMysql === null || sourceMysql.readOnly) return null;
    const alarms = [...(source.state?.alarms ?? [])];
    if (!sourceMysql.sourceArmed) alarms.push("writable, semi-sync off");
    if (alarms.length === 0) return null;
    const detail = alarms.join("; ");
    if (record.phase !== "IDLE") return { server: source.name, recovery: null, detail };
    if (!record.ackSet.includes(record.src)) return { server: source.name, recovery: { do: "cover" }, detail };
    const { switchover: request } = snapshot;
    const target = request === null ? null : receivingTarget(facts, request.target);
    const recovery = request === null || target === null ? null : ({ do: "switchover", request, target } as const);
    return { server: source.name, recovery, detail };
  },
};

/** Two servers can acknowledge (assertion A10). */
const twoSources: ProblemRow = {
  code: "TWO_SOURCES",
  blocks: true,
  page: true,
  matches({ snapshot, source, nowMs }) {
    const second = snapshot.views.find((view) => {
      const mysql = answering(view, nowMs)?.mysql;
      if (view === source || !mysql || mysql.readOnly) return false;
      return snapshot.views.some((other) => {
        const follower = answering(other, nowMs)?.mysql;
        const receiver = follower?.receiver;
        return (
          other !== view && follower?.replicaArmed && receiver?.receiving && receiver.sourceUuid === mysql.serverUuid
        );
      });
    });
    return second === undefined ? null : { server: second.name, recovery: null, detail: "is open and has an acker" };
  },
};

/** No server of this triple was ever opened. */
const neverOpened: ProblemRow = {
  code: "TRIPLE_NEVER_OPENED",
  blocks: true,
  page: false,
  matches({ record, snapshot, nowMs }) {
    if (record.tenure !== 0 || record.phase === "PROMOTE") return null;
    const ready = snapshot.views.every((view) => (answering(view, nowMs)?.mysql ?? null) !== null);
    return { recovery: ready ? { do: "lead", prefer: record.src, killSource: false } : null };
  },
};

/** PROMOTE is recorded: clients may have acknowledgements from `src`, so it goes on with the same one. */
const promoteUnfinished: ProblemRow = {
  code: "PROMOTE_UNFINISHED",
  blocks: true,
  page: false,
  matches(facts) {
    const { record, sourceReadable, memory } = facts;
    if (record.phase !== "PROMOTE" || !sourceReadable) return null;
    if (justBlocked(facts)) return { recovery: null, detail: "blocked a moment ago" };
    // It cannot be opened as it is: revoke everything and begin anew, with another one if that may lead.
    if (memory.blockedInARow >= RESUMES_MAX) {
      return { recovery: { do: "lead", prefer: null, avoid: record.src, killSource: true } };
    }
    return { recovery: { do: "resume-promote" } };
  },
};

const revokeUnfinished: ProblemRow = {
  code: "REVOKE_UNFINISHED",
  blocks: true,
  page: false,
  matches(facts) {
    const { record, source, sourceOpen, sourceReadable, sourceDead, membersReadable, replicas } = facts;
    if (record.phase !== "REVOKE") return null;
    if (justBlocked(facts)) return { recovery: null, detail: "blocked a moment ago" };
    if (sourceOpen && source.state?.file?.revoked === false) return { recovery: { do: "abort" } };
    // Whatever REVOKE was begun for: a source that a replica hears is not given up because it does not answer us.
    const hears = sourceReadable || sourceDead ? undefined : replicas.find((replica) => replica.receives);
    if (hears !== undefined) return { recovery: null, detail: `${hears.name} receives from the source` };
    if (!membersReadable && !sourceReadable) return { recovery: null, detail: "too few servers answer" };
    const prefer = sourceReadable ? record.src : null;
    return { recovery: { do: "lead", prefer, killSource: sourceOpen } };
  },
};

function justBlocked({ memory, nowMs }: Facts): boolean {
  return memory.lastBlockedMs !== null && nowMs - memory.lastBlockedMs < RETRY_BLOCKED_MS;
}

const narrowUnfinished: ProblemRow = {
  code: "NARROW_UNFINISHED",
  blocks: false,
  page: false,
  matches(facts) {
    const { record, sourceOpen, replicas, nowMs } = facts;
    if (record.phase !== "NARROW" || !sourceOpen || record.victim === null) return null;
    const server = record.victim;
    if (otherMemberReceives(facts, server)) return { server, recovery: { do: "narrow", server } };
    // Nobody else acknowledges any more: the victim must be let in again, which only an idle record allows.
    const others = replicas.filter((replica) => replica.name !== server);
    const lost = others.every(({ view, gone, readable }) => {
      return gone || !readable || heldFor(view, "notReceiving", nowMs) >= NOT_RECEIVING_MS;
    });
    return { server, recovery: lost ? { do: "leave-narrow" } : null };
  },
};

export const RECORD_ROWS: readonly ProblemRow[] = [
  recordBehind,
  sourceTampered,
  twoSources,
  neverOpened,
  revokeUnfinished,
  promoteUnfinished,
  narrowUnfinished,
];
