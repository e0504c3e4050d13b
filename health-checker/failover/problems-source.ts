// Rows of the problem table that are about the source. "Dead", "hung", "gone" and "unreachable from here only" are kept
// apart by what its own agent says and by what the replicas' agents say of their receivers.
import { mayChangeSource, type Facts } from "./facts.ts";
import { answering, heldFor } from "./snapshot.ts";
import { BEAT_STALL_MS, KILL_SOURCE_EVERY_MS, NO_ACKER_MS } from "./thresholds.ts";
import type { Match, ProblemRow } from "./problem.ts";

/** A receiver that has just been started has no heartbeat yet. */
const NOT_RECEIVING_SURE_MS = 700;

/** One that has just begun to follow gets so long to show that something arrives: a heartbeat comes twice a second. */
const CONNECTING_MS = 1_500;

/**
 * Another server leads, if REVOKE finds one that may; the anti-flap rule permitting.
 * @param options `avoid`: the present source leads again only if nobody else may
 */
function changeSource(facts: Facts, options: { readonly avoid?: string } = {}): Match {
  const server = facts.source.name;
  // Held back for minutes; whoever could acknowledge is to be brought back meanwhile.
  const detail = "the last change was too short a time ago";
  if (!mayChangeSource(facts)) return { server, recovery: null, blocks: false, detail };
  return { server, recovery: { do: "lead", prefer: null, killSource: true, ...options } };
}

function row(code: string, page: boolean, matches: (facts: Facts) => Match | null): ProblemRow {
  return { code, blocks: true, page, matches };
}

/** The agent answers, and what is there is no data of this triple. A triple that nobody ever led has lost nothing. */
const diskLost = row("SOURCE_DISK_LOST", true, (facts) => {
  const { source, sourceAnswers, membersReadable, record } = facts;
  if (record.tenure === 0 || !sourceAnswers || source.state?.data !== "VOID") return null;
  // It can never lead again as it is, so that nothing flaps.
  if (membersReadable) return { server: source.name, recovery: { do: "lead", prefer: null, killSource: true } };
  return { server: source.name, recovery: null, detail: "a member of the ack-set cannot be read: a person decides" };
});

/** Closed by a restart, its own or everybody's. It holds everything, so it leads again. */
const restarted = row("SOURCE_RESTARTED", false, ({ source, sourceReadable, sourceOpen }) => {
  if (!sourceReadable || sourceOpen) return null;
  return { server: source.name, recovery: { do: "lead", prefer: source.name, killSource: true } };
});

const dead = row("SOURCE_DEAD", true, (facts) => {
  return facts.sourceDead && facts.membersReadable ? changeSource(facts) : null;
});

/** Its agent starts it again, closed, and then it leads again: it holds everything that was acknowledged. */
const deadMemberLost = row("SOURCE_DEAD_MEMBER_LOST", true, ({ source, sourceDead, membersReadable }) => {
  return sourceDead && !membersReadable ? { server: source.name, recovery: null } : null;
});

const hung = row("SOURCE_HUNG", true, (facts) => {
  return facts.sourceHung && facts.membersReadable ? changeSource(facts) : null;
});

const hungMemberLost = row("SOURCE_HUNG_MEMBER_LOST", true, (facts) => {
  if (!facts.sourceHung || facts.membersReadable) return null;
  return killSource(facts, facts.source.openPid !== null);
});

/** Kills the source through its agent, then decides by its own set. Not again and again. */
function killSource({ source, memory, nowMs }: Facts, wasOpen: boolean): Match {
  const lately = memory.sourceKilledMs !== null && nowMs - memory.sourceKilledMs < KILL_SOURCE_EVERY_MS;
  if (!wasOpen || lately) return { server: source.name, recovery: null, detail: "killed lately, or still starting" };
  return { server: source.name, recovery: { do: "lead", prefer: source.name, killSource: true } };
}

const starting = row("SOURCE_STARTING", false, ({ source, sourceAnswers, sourceMysql }) => {
  return sourceAnswers && sourceMysql === null ? { server: source.name, recovery: null } : null;
});

/** A replica hears it: whatever is broken is between it and us. */
const unreachableFromHere = row("SOURCE_UNREACHABLE_FROM_HERE", true, ({ source, sourceGone, replicas }) => {
  const hears = replicas.find((replica) => replica.receives);
  if (!sourceGone || hears === undefined) return null;
  return { server: source.name, recovery: null, detail: `${hears.name} receives from it` };
});

const gone = row("SOURCE_GONE", true, (facts) => {
  const { sourceGone, membersReadable, replicas, nowMs } = facts;
  if (!sourceGone || !membersReadable) return null;
  const deaf = replicas.every(({ readable, view, role }) => {
    return !readable || role === "closed" || heldFor(view, "notReceiving", nowMs) >= NOT_RECEIVING_SURE_MS;
  });
  if (!deaf) return { server: facts.source.name, recovery: null, detail: "the replicas are not sure yet" };
  return changeSource(facts);
});

/** Whoever is in the ack-set and cannot be read may hold the only copy of an acknowledged write. */
const goneMemberLost = row("SOURCE_GONE_MEMBER_LOST", true, ({ source, sourceGone, replicas, snapshot, nowMs }) => {
  if (!sourceGone) return null;
  const some = replicas.some(({ view }) => answering(view, nowMs) !== null);
  const detail = some ? "a member of the ack-set cannot be read: no promotion" : "no agent answers";
  return { server: source.name, recovery: null, detail: `${detail} (${snapshot.views.length} servers)` };
});

/** Nobody acknowledges, and a replica is there that could. */
const ackerMissing = row("ACKER_MISSING", false, ({ sourceOpen, record, replicas, nowMs }) => {
  if (!sourceOpen || record.phase !== "IDLE" || replicas.some((replica) => replica.receives)) return null;
  const ready = replicas.filter(({ readable, writable, repairWaits, role, view }) => {
    const idle = role === "closed" || heldFor(view, "notReceiving", nowMs) >= CONNECTING_MS;
    return readable && !writable && !repairWaits && idle;
  });
  const next = ready.find(({ member }) => member) ?? ready[0];
  if (next === undefined) return null;
  return { server: next.name, recovery: { do: "rejoin", server: next.name, rebuild: false } };
});

/** Writes wait though a member receives: an acknowledgement was lost. A new connection and one more write release it. */
const ackLost = row("ACK_LOST", false, (facts) => {
  const { sourceOpen, record, beatHangsMs, sourceMysql, replicas, receiversWereRestarted } = facts;
  if (
    !sourceOpen ||
    record.phase !== "IDLE" ||
    beatHangsMs === 0 ||
    sourceMysql === null ||
    sourceMysql.waitSessions === 0
  )
    return null;
  const member = replicas.find((replica) => replica.member && replica.receives && !replica.repairWaits);
  if (member === undefined || receiversWereRestarted) return null;
  return { server: member.name, recovery: { do: "rejoin", server: member.name, rebuild: false } };
});

/** mysqld answers, and no write commits: a full disk, a stalled fsync, a cut between it and the replicas. */
const beatHangs = row("SOURCE_BEAT_HANGS", true, (facts) => {
  if (!beatStalls(facts) || !facts.membersReadable || waitsForClone(facts)) return null;
  // Opened again it would stand still again, or not even be opened. A dead one is another matter: it starts anew.
  return changeSource(facts, { avoid: facts.source.name });
});

const beatHangsMemberLost = row("SOURCE_BEAT_HANGS_MEMBER_LOST", true, (facts) => {
  const acked = facts.replicas.some((replica) => replica.member && replica.receives);
  if (!beatStalls(facts) || facts.membersReadable || !acked) return null;
  return killSource(facts, true);
});

/** Waits for an acknowledgement only end in a change of source after the receivers were tried. */
function beatStalls({ sourceOpen, sourceMysql, beatHangsMs, ...facts }: Facts): boolean {
  if (!sourceOpen || sourceMysql === null || beatHangsMs < BEAT_STALL_MS || facts.receiversJustRestarted) return false;
  return facts.receiversWereRestarted || sourceMysql.waitSessions === 0;
}

/**
 * Whoever could acknowledge has to be rebuilt first, and a clone waits for the very commits that wait for it. The source
 * is closed for the time of the clone; its pending commits become part of it.
 */
const ackerNeedsRebuild = row("ACKER_NEEDS_REBUILD", true, (facts) => {
  return facts.sourceOpen && facts.beatHangsMs >= NO_ACKER_MS && waitsForClone(facts) ? killSource(facts, true) : null;
});

/** Writes wait for an acknowledgement that only a server could give whose data is to be replaced: nobody else can lead. */
function waitsForClone({ sourceMysql, replicas }: Facts): boolean {
  if ((sourceMysql?.waitSessions ?? 0) === 0 || replicas.some(({ receives }) => receives)) return false;
  const nobodyElse = replicas.every(({ needsRebuild, readable }) => needsRebuild || !readable);
  return nobodyElse && replicas.some(({ needsRebuild }) => needsRebuild);
}

/**
 * Reads go on, writes wait; nothing is promoted and semi-sync is never relaxed. Not while a recovery is still attaching
 * the replicas and nothing has waited for long.
 */
const noAcker: ProblemRow = {
  code: "NO_ACKER",
  blocks: false,
  page: true,
  matches({ source, sourceOpen, replicas, record, beatHangsMs }) {
    const none = replicas.every((replica) => !replica.receives) && (record.phase === "IDLE" || beatHangsMs > 0);
    return sourceOpen && none ? { server: source.name, recovery: null } : null;
  },
};

export const SOURCE_ROWS: readonly ProblemRow[] = [
  diskLost,
  restarted,
  dead,
  deadMemberLost,
  hung,
  hungMemberLost,
  starting,
  unreachableFromHere,
  gone,
  goneMemberLost,
  beatHangs,
  beatHangsMemberLost,
  ackerMissing,
  ackLost,
  ackerNeedsRebuild,
  noAcker,
];
