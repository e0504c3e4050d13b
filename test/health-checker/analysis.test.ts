import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_RECORD_CODES, PROBLEM_TABLE, problemsOf, toActOn } from "../../health-checker/failover/analysis.ts";
import { A, B, C, NOW, Scene, UUID } from "./scene.ts";

const seen = new Set<string>();

function codes(scene: Scene): string[] {
  return problemsOf(scene.snapshot()).map(({ code }) => code);
}

/** Asserts the most pressing problem, and what is done about it. */
function expect(scene: Scene, code: string, action: string | null, server?: string): void {
  const problems = problemsOf(scene.snapshot());
  assert.equal(problems[0]?.code, code, JSON.stringify(problems));
  seen.add(code);
  const acted = toActOn(problems);
  assert.equal(acted?.recovery.do ?? null, action, JSON.stringify(problems));
  if (server !== undefined && acted !== null && "server" in acted.recovery) {
    assert.equal(acted.recovery.server, server);
  }
}

/** Asserts that a problem is among those found, with the action that is taken over all. */
function includes(scene: Scene, code: string, action: string | null): void {
  const problems = problemsOf(scene.snapshot());
  const found = problems.map((problem) => problem.code);
  assert.ok(found.includes(code), `${code} is not in ${found.join()}`);
  seen.add(code);
  assert.equal(toActOn(problems)?.recovery.do ?? null, action, JSON.stringify(problems));
}

function lacks(scene: Scene, code: string): void {
  assert.ok(!codes(scene).includes(code), `${code} should not match`);
}

test("a whole triple has no problem", () => {
  assert.deepEqual(codes(new Scene()), []);
});

test("HALTED: after a failed assertion nothing is done, whatever else is wrong", () => {
  const scene = new Scene().dead(A);
  scene.halted = "A2";
  expect(scene, "HALTED", null);
  scene.halted = null;
  lacks(scene, "HALTED");
});

test("TRIPLE_NEW: without a record, three servers that were never used get one; two do not", () => {
  const scene = new Scene();
  scene.record = null;
  for (const name of [A, B, C]) scene.state(name, { pristine: true, data: "VOID", file: null }).closed(name);
  expect(scene, "TRIPLE_NEW", "birth");
  scene.gone(C);
  expect(scene, "TRIPLE_UNSEEN", null);
});

test("TRIPLE_UNSEEN: without a record and without answers nothing is concluded; one used server is enough to", () => {
  const scene = new Scene();
  scene.record = null;
  for (const name of [A, B, C]) scene.gone(name);
  expect(scene, "TRIPLE_UNSEEN", null);
  scene.view(A).failures = 0;
  scene.view(A).answeredAtMs = NOW - 50;
  lacks(scene, "TRIPLE_UNSEEN");
});

test("RECORD_LOST: a record is made anew only with a person's word and all three servers", () => {
  const scene = new Scene();
  scene.record = null;
  expect(scene, "RECORD_LOST", null);
  scene.recordLostConfirmed = true;
  expect(scene, "RECORD_LOST", "restore-record");
  scene.gone(C);
  expect(scene, "RECORD_LOST", null);
  scene.record = new Scene().record;
  lacks(scene, "RECORD_LOST");
});

test("RECORD_BEHIND: an agent that has heard of a newer epoch stops everything", () => {
  const scene = new Scene();
  scene.change({ epoch: 6 }).dead(A);
  expect(scene, "RECORD_BEHIND", null);
  scene.change({ epoch: 7 });
  lacks(scene, "RECORD_BEHIND");
});

test("SEMISYNC_TAMPERED: a source without semi-sync, or with an alarm, joins the ack-set and is left alone", () => {
  const scene = new Scene().mysql(A, { sourceArmed: false }).state(A, { role: "other" });
  expect(scene, "SEMISYNC_TAMPERED", "cover");
  expect(scene.change({ ackSet: [A, B, C] }), "SEMISYNC_TAMPERED", null);
  expect(new Scene().state(A, { alarms: ["a commit was acknowledged by no replica"] }), "SEMISYNC_TAMPERED", "cover");
  const replica = new Scene().state(B, { alarms: ["x"] });
  lacks(replica, "SEMISYNC_TAMPERED");
  scene.switchover = { requestId: "r", target: B };
  expect(scene, "SEMISYNC_TAMPERED", "switchover");
  scene.switchover = { requestId: "r", target: A };
  expect(scene, "SEMISYNC_TAMPERED", null);
});

test("TWO_SOURCES: a second writable server with an acker stops everything; without an acker it is an old source", () => {
  const scene = new Scene().state(B, { role: "open" });
  scene.mysql(B, { readOnly: false, superReadOnly: false, sourceArmed: true, receiver: null });
  lacks(scene, "TWO_SOURCES");
  scene.receiver(C, { sourceUuid: UUID[B] ?? "" });
  expect(scene, "TWO_SOURCES", null);
});

test("TRIPLE_NEVER_OPENED: waits for all three, then opens the first", () => {
  const scene = new Scene().change({ tenure: 0 }).closed(A).closed(B).closed(C);
  expect(scene, "TRIPLE_NEVER_OPENED", "lead");
  expect(scene.gone(C), "TRIPLE_NEVER_OPENED", null);
  lacks(new Scene().closed(A), "TRIPLE_NEVER_OPENED");
});

test("REVOKE_UNFINISHED: goes back while the source is open, else revokes again with whoever answers", () => {
  expect(new Scene().change({ phase: "REVOKE" }).closed(B), "REVOKE_UNFINISHED", "abort");
  expect(new Scene().change({ phase: "REVOKE" }).dead(A), "REVOKE_UNFINISHED", "lead");
  expect(new Scene().change({ phase: "REVOKE" }).closed(A).gone(B).gone(C), "REVOKE_UNFINISHED", "lead");
  expect(new Scene().change({ phase: "REVOKE" }).dead(A).gone(B), "REVOKE_UNFINISHED", null);
  const blocked = new Scene().change({ phase: "REVOKE" }).dead(A);
  blocked.memory.lastBlockedMs = NOW - 100;
  expect(blocked, "REVOKE_UNFINISHED", null);
  lacks(new Scene().closed(B), "REVOKE_UNFINISHED");
});

test("PROMOTE_UNFINISHED: goes on with the recorded source while it answers, never with the former one", () => {
  expect(new Scene().change({ phase: "PROMOTE" }).closed(A), "PROMOTE_UNFINISHED", "resume-promote");
  const dead = new Scene().change({ phase: "PROMOTE" }).dead(A);
  lacks(dead, "PROMOTE_UNFINISHED");
  expect(dead, "SOURCE_DEAD", "lead");
  const stuck = new Scene().change({ phase: "PROMOTE" }).closed(A);
  stuck.memory.blockedInARow = 2;
  expect(stuck, "PROMOTE_UNFINISHED", "lead");
});

test("NARROW_UNFINISHED: cuts again while another member receives, gives up when none does", () => {
  const narrowing = (): Scene => new Scene().change({ phase: "NARROW", victim: C }).gone(C);
  expect(narrowing(), "NARROW_UNFINISHED", "narrow", C);
  expect(narrowing().gone(B), "NARROW_UNFINISHED", "leave-narrow");
  lacks(narrowing().dead(A), "NARROW_UNFINISHED");
  lacks(new Scene().gone(C), "NARROW_UNFINISHED");
});

test("SOURCE_DISK_LOST: another leads if every member can be read and the lost disk is not a member's", () => {
  expect(new Scene().voidData(A), "SOURCE_DISK_LOST", "lead");
  expect(new Scene().voidData(A).gone(B), "SOURCE_DISK_LOST", null);
  expect(new Scene().voidData(A).change({ ackSet: [A, B] }), "SOURCE_DISK_LOST", null);
  lacks(new Scene().closed(A), "SOURCE_DISK_LOST");
  lacks(new Scene().voidData(A).change({ tenure: 0 }), "SOURCE_DISK_LOST");
});

test("SOURCE_RESTARTED: a closed source leads again, whoever else is there", () => {
  expect(new Scene().closed(A), "SOURCE_RESTARTED", "lead");
  expect(new Scene().closed(A).gone(B).gone(C), "SOURCE_RESTARTED", "lead");
  const action = toActOn(problemsOf(new Scene().closed(A).closed(B).closed(C).snapshot()));
  assert.deepEqual(action?.recovery, { do: "lead", prefer: A, killSource: true });
  lacks(new Scene(), "SOURCE_RESTARTED");
});

test("SOURCE_DEAD: acted on at once when its agent says that the process ended, or is another one", () => {
  expect(new Scene().dead(A), "SOURCE_DEAD", "lead");
  const replaced = new Scene().silent(A, 100, 1);
  replaced.state(A, { process: { supervised: true, pid: 4242, starts: 2, running: true } });
  expect(replaced, "SOURCE_DEAD", "lead");
  lacks(new Scene().silent(A, 100, 1), "SOURCE_DEAD");
});

test("SOURCE_DEAD_MEMBER_LOST: with a member unreadable nothing is promoted", () => {
  expect(new Scene().dead(A).gone(B), "SOURCE_DEAD_MEMBER_LOST", null);
  expect(new Scene().dead(A).silent(B, 5_000), "SOURCE_DEAD_MEMBER_LOST", null);
  const narrowed = new Scene()
    .dead(A)
    .gone(B)
    .change({ ackSet: [C] });
  lacks(narrowed, "SOURCE_DEAD_MEMBER_LOST");
  expect(narrowed, "SOURCE_DEAD", "lead");
});

test("SOURCE_HUNG: two looks without an answer and 1.5 s of silence; one look, or less, is a busy machine", () => {
  expect(new Scene().silent(A, 1_600, 2), "SOURCE_HUNG", "lead");
  lacks(new Scene().silent(A, 1_600, 1), "SOURCE_HUNG");
  lacks(new Scene().silent(A, 1_000, 2), "SOURCE_HUNG");
  const starting = new Scene().silent(A, 1_600, 2);
  starting.view(A).openPid = null;
  lacks(starting, "SOURCE_HUNG");
});

test("SOURCE_HUNG_MEMBER_LOST: it is killed once and decides by its own set", () => {
  const scene = new Scene().silent(A, 2_000).gone(C);
  expect(scene, "SOURCE_HUNG_MEMBER_LOST", "lead");
  scene.memory.sourceKilledMs = NOW - 5_000;
  expect(scene, "SOURCE_HUNG_MEMBER_LOST", null);
  lacks(new Scene().silent(A, 2_000), "SOURCE_HUNG_MEMBER_LOST");
});

test("SOURCE_STARTING: a source that was never seen open is given time", () => {
  const scene = new Scene().silent(A, 1_600, 2);
  scene.view(A).openPid = null;
  expect(scene, "SOURCE_STARTING", null);
  lacks(new Scene().gone(A), "SOURCE_STARTING");
});

test("SOURCE_UNREACHABLE_FROM_HERE: nothing is done while any replica hears the source", () => {
  expect(new Scene().gone(A), "SOURCE_UNREACHABLE_FROM_HERE", null);
  expect(new Scene().gone(A).gone(B), "SOURCE_UNREACHABLE_FROM_HERE", null);
  expect(new Scene().gone(A).closed(B), "SOURCE_UNREACHABLE_FROM_HERE", null);
  lacks(new Scene().gone(A).deaf(B, 2_000).deaf(C, 2_000), "SOURCE_UNREACHABLE_FROM_HERE");
  assert.deepEqual(codes(new Scene().gone(A, 500, 2)), []);
});

test("SOURCE_GONE: three failed polls, every member readable, and none of them hears it", () => {
  expect(new Scene().gone(A).deaf(B, 2_000).deaf(C, 2_000), "SOURCE_GONE", "lead");
  expect(new Scene().gone(A).deaf(B, 2_000).deaf(C, 100), "SOURCE_GONE", null);
  expect(
    new Scene()
      .gone(A)
      .deaf(B, 2_000)
      .gone(C)
      .change({ ackSet: [B] }),
    "SOURCE_GONE",
    "lead",
  );
  lacks(new Scene().gone(A, 500, 2).deaf(B, 2_000).deaf(C, 2_000), "SOURCE_GONE");
});

test("SOURCE_GONE_MEMBER_LOST: who cannot be read may hold the only copy of an acknowledged write", () => {
  expect(new Scene().gone(A).deaf(B, 2_000).gone(C), "SOURCE_GONE_MEMBER_LOST", null);
  expect(new Scene().gone(A).gone(B).gone(C), "SOURCE_GONE_MEMBER_LOST", null);
  expect(new Scene().gone(A).deaf(B, 2_000).voidData(C).closed(C), "SOURCE_GONE_MEMBER_LOST", null);
  assert.equal(codes(new Scene().gone(A).deaf(B, 2_000).deaf(C, 2_000))[0], "SOURCE_GONE");
});

test("a second change of source waits for the triple to be whole, or for the source to stay away", () => {
  const scene = new Scene().gone(A, 5_000).deaf(B, 2_000).deaf(C, 2_000);
  scene.memory.sourceChangedMs = NOW - 20_000;
  scene.memory.wholeSinceChange = false;
  expect(scene, "SOURCE_GONE", null);
  scene.since(A, "gone", 16_000);
  expect(scene, "SOURCE_GONE", "lead");
  const whole = new Scene().dead(A);
  whole.memory.sourceChangedMs = NOW - 20_000;
  expect(whole, "SOURCE_DEAD", "lead");
});

test("ACKER_MISSING: with nobody receiving, a readable replica is made to follow; with one receiving it can wait", () => {
  expect(new Scene().closed(B).closed(C), "ACKER_MISSING", "rejoin", B);
  expect(new Scene().gone(B).closed(C), "ACKER_MISSING", "rejoin", C);
  lacks(new Scene().gone(B).deaf(C, 500), "ACKER_MISSING");
  lacks(new Scene().closed(B), "ACKER_MISSING");
});

test("ACK_LOST: commits wait though a member receives, so a receiver is restarted once", () => {
  const scene = new Scene().beatHangs(500, 3);
  expect(scene, "ACK_LOST", "rejoin", B);
  scene.memory.receiversRestartedMs = NOW - 200;
  lacks(scene, "ACK_LOST");
  lacks(new Scene().beatHangs(500, 0), "ACK_LOST");
});

test("SOURCE_BEAT_HANGS: a stalled disk is given 3 s; waits for acknowledgements only after the receivers were tried", () => {
  expect(new Scene().beatHangs(3_100), "SOURCE_BEAT_HANGS", "lead");
  const action = toActOn(problemsOf(new Scene().beatHangs(3_100).snapshot()));
  assert.deepEqual(action?.recovery, { do: "lead", prefer: null, avoid: A, killSource: true });
  lacks(new Scene().beatHangs(2_500), "SOURCE_BEAT_HANGS");
  const waits = new Scene().beatHangs(9_000, 2);
  waits.memory.receiversRestartedMs = NOW - 4_000;
  lacks(waits, "SOURCE_BEAT_HANGS");
  waits.memory.receiversRestartedMs = NOW - 6_000;
  expect(waits, "SOURCE_BEAT_HANGS", "lead");
});

test("SOURCE_BEAT_HANGS_MEMBER_LOST: the source is killed and decides by its own set", () => {
  expect(new Scene().beatHangs(3_100).gone(C), "SOURCE_BEAT_HANGS_MEMBER_LOST", "lead");
  const action = toActOn(problemsOf(new Scene().beatHangs(3_100).gone(C).snapshot()));
  assert.deepEqual(action?.recovery, { do: "lead", prefer: A, killSource: true });
  lacks(new Scene().beatHangs(3_100).gone(B).gone(C), "SOURCE_BEAT_HANGS_MEMBER_LOST");
});

test("NO_ACKER: with both replicas gone nothing is promoted and nothing is relaxed", () => {
  expect(new Scene().beatHangs(60_000, 4).gone(B).gone(C), "NO_ACKER", null);
  lacks(new Scene().beatHangs(1_000, 4).gone(B), "NO_ACKER");
  lacks(new Scene().change({ phase: "PROMOTE" }).gone(B).gone(C), "NO_ACKER");
});

test("ACKER_NEEDS_REBUILD: a clone would wait for the commits that wait for it, so the source is closed for it, once", () => {
  const scene = new Scene()
    .beatHangs(9_000, 2)
    .gone(C)
    .voidData(B)
    .closed(B)
    .change({ ackSet: [C] });
  expect(scene, "ACKER_NEEDS_REBUILD", "lead");
  scene.memory.sourceKilledMs = NOW - 10_000;
  expect(scene, "ACKER_NEEDS_REBUILD", null);
  lacks(
    new Scene()
      .beatHangs(7_000, 2)
      .gone(C)
      .voidData(B)
      .closed(B)
      .change({ ackSet: [C] }),
    "ACKER_NEEDS_REBUILD",
  );
  lacks(new Scene().beatHangs(9_000, 2).gone(C).voidData(B).closed(B), "ACKER_NEEDS_REBUILD");
});

test("ACKER_NEEDS_REBUILD: also right after a change of source, with nobody but the source in the ack-set", () => {
  const scene = new Scene()
    .beatHangs(9_000, 2)
    .gone(C)
    .voidData(B)
    .closed(B)
    .change({ ackSet: [A] });
  scene.memory.sourceChangedMs = NOW - 12_000;
  scene.memory.wholeSinceChange = false;
  scene.memory.receiversRestartedMs = NOW - 6_000;
  expect(scene, "ACKER_NEEDS_REBUILD", "lead");
  assert.deepEqual(toActOn(problemsOf(scene.snapshot()))?.recovery, { do: "lead", prefer: A, killSource: true });
  // A member that could be read and cloned from is somebody else to lead: the ordinary row holds, and its anti-flap.
  const other = new Scene().beatHangs(9_000, 2).closed(B).closed(C);
  other.memory.sourceChangedMs = NOW - 12_000;
  other.memory.wholeSinceChange = false;
  other.memory.receiversRestartedMs = NOW - 6_000;
  includes(other, "SOURCE_BEAT_HANGS", "rejoin");
});

test("SOURCE_DISK_LOST: right after a change of source as well, as it can never lead again", () => {
  const scene = new Scene().voidData(A).closed(A);
  scene.memory.sourceChangedMs = NOW - 12_000;
  scene.memory.wholeSinceChange = false;
  expect(scene, "SOURCE_DISK_LOST", "lead");
});

test("REVOKE_UNFINISHED: a source that does not answer us, and that a replica hears, is left alone", () => {
  expect(new Scene().change({ phase: "REVOKE" }).gone(A), "REVOKE_UNFINISHED", null);
  expect(new Scene().change({ phase: "REVOKE" }).gone(A, 100, 1), "REVOKE_UNFINISHED", null);
  expect(new Scene().change({ phase: "REVOKE" }).gone(A).closed(B).closed(C), "REVOKE_UNFINISHED", "lead");
});

test("NARROW_UNFINISHED: nobody rejoins at the epoch of a narrowing", () => {
  const scene = new Scene().change({ phase: "NARROW", victim: C }).closed(B).gone(C);
  lacks(scene, "ACKER_MISSING");
  lacks(new Scene().change({ phase: "NARROW", victim: C }).beatHangs(500, 3), "ACK_LOST");
});

test("SEMISYNC_TAMPERED: not of a closed source, which takes no writes", () => {
  const scene = new Scene()
    .change({ phase: "REVOKE" })
    .closed(A)
    .state(A, { alarms: ["relay_log_recovery is 1"] });
  lacks(scene, "SEMISYNC_TAMPERED");
  expect(scene, "REVOKE_UNFINISHED", "lead");
});

test("OLD_SOURCE_OPEN: a server that is writable and is not the source is closed", () => {
  const scene = new Scene().state(B, { role: "open" }).change({ ackSet: [C] });
  scene.mysql(B, { readOnly: false, superReadOnly: false, sourceArmed: true, receiver: null });
  expect(scene, "OLD_SOURCE_OPEN", "rejoin", B);
  lacks(new Scene().closed(B), "OLD_SOURCE_OPEN");
});

test("REPLICA_VOID: a member without data is dropped first, one outside is rebuilt, one being rebuilt is left alone", () => {
  expect(new Scene().voidData(B).closed(B), "REPLICA_VOID", "narrow", B);
  const outside = new Scene()
    .voidData(B)
    .closed(B)
    .change({ ackSet: [C] });
  expect(outside, "REPLICA_VOID", "rejoin", B);
  outside.memory.rebuilding = new Set([B]);
  expect(outside, "REPLICA_VOID", null);
  includes(new Scene().voidData(B).closed(B).gone(C), "REPLICA_VOID", null);
  lacks(new Scene().closed(B), "REPLICA_VOID");
});

test("REPLICA_ERRANT: transactions that nobody else has; one of the source's own may only be on its way", () => {
  const errant = new Scene().mysql(B, { executed: `${UUID[A]}:1-100,${UUID[B]}:1` });
  expect(errant, "REPLICA_ERRANT", "narrow", B);
  expect(errant.change({ ackSet: [C] }), "REPLICA_ERRANT", "rejoin", B);
  lacks(new Scene().mysql(B, { retrieved: `${UUID[A]}:1-101` }), "REPLICA_ERRANT");
});

test("REPLICA_CLOSED: rejoined at once, then with growing pauses", () => {
  const scene = new Scene().closed(B);
  expect(scene, "REPLICA_CLOSED", "rejoin", B);
  scene.memory.repairs = new Map([[B, { count: 4, lastMs: NOW - 1_000 }]]);
  expect(scene, "REPLICA_CLOSED", null);
  scene.memory.repairs = new Map([[B, { count: 4, lastMs: NOW - 2_100 }]]);
  expect(scene, "REPLICA_CLOSED", "rejoin", B);
  lacks(new Scene().deaf(B, 100), "REPLICA_CLOSED");
});

test("REPLICA_BROKEN: a stopped applier is restarted twice, then its server is dropped and rebuilt", () => {
  const scene = new Scene().receiver(B, { applierRunning: false, applierErrno: 1062 }).since(B, "applierBroken", 2_000);
  expect(scene, "REPLICA_BROKEN", "rejoin", B);
  scene.memory.repairs = new Map([[B, { count: 2, lastMs: NOW - 9_000 }]]);
  expect(scene, "REPLICA_BROKEN", "narrow", B);
  scene.change({ ackSet: [C] });
  const action = toActOn(problemsOf(scene.snapshot()));
  assert.deepEqual(action?.recovery, { do: "rejoin", server: B, rebuild: true });
  const purged = new Scene().deaf(B, 2_000).receiver(B, { ioErrno: 13114 });
  expect(purged, "REPLICA_BROKEN", "rejoin", B);
  lacks(new Scene().deaf(B, 2_000).receiver(B, { ioErrno: 2003 }), "REPLICA_BROKEN");
});

test("REPLICA_OUTSIDE: a follower outside the ack-set is let in properly", () => {
  expect(new Scene().change({ ackSet: [C] }), "REPLICA_OUTSIDE", "rejoin", B);
  lacks(new Scene(), "REPLICA_OUTSIDE");
});

test("REPLICA_NOT_RECEIVING: a follower may reconnect by itself for 3 s", () => {
  expect(new Scene().deaf(B, 3_100), "REPLICA_NOT_RECEIVING", "rejoin", B);
  lacks(new Scene().deaf(B, 2_500), "REPLICA_NOT_RECEIVING");
});

test("REPLICA_ODD_ROLE: a command that broke off is done anew", () => {
  expect(new Scene().state(B, { role: "other" }).since(B, "oddRole", 2_000), "REPLICA_ODD_ROLE", "rejoin", B);
  lacks(new Scene().state(B, { role: "other" }).since(B, "oddRole", 500), "REPLICA_ODD_ROLE");
});

test("REPLICA_LOST: a member unreadable for 5 s is dropped while another one receives and writes commit", () => {
  expect(new Scene().gone(C, 5_100), "REPLICA_LOST", "narrow", C);
  expect(new Scene().silent(C, 5_100), "REPLICA_LOST", "narrow", C);
  lacks(new Scene().gone(C, 4_000), "REPLICA_LOST");
  expect(new Scene().gone(C, 9_000).gone(B, 9_000), "NO_ACKER", null);
  includes(new Scene().gone(C, 9_000).beatHangs(100), "REPLICA_LOST", null);
});

test("REPLICA_CUT_OFF: a member that answers us and hears nothing for 12 s is dropped", () => {
  const scene = new Scene().deaf(C, 12_100);
  scene.memory.repairs = new Map([[C, { count: 9, lastMs: NOW - 1_000 }]]);
  includes(scene, "REPLICA_CUT_OFF", "narrow");
  lacks(new Scene().deaf(C, 8_000), "REPLICA_CUT_OFF");
});

test("UNSETTLED: the source leaves the ack-set when a follower holds what it began with", () => {
  const scene = new Scene().change({ ackSet: [A, B, C] });
  expect(scene, "UNSETTLED", "settle");
  const behind = { executed: `${UUID[A]}:1-90`, retrieved: "" };
  scene.mysql(B, behind).mysql(C, behind);
  expect(scene, "UNSETTLED", null);
  lacks(new Scene(), "UNSETTLED");
});

test("REPLICA_AWAY: told, and nothing is done about it", () => {
  expect(new Scene().gone(C, 1_000, 3), "REPLICA_AWAY", null);
  lacks(new Scene(), "REPLICA_AWAY");
});

test("REPLICA_LAGGING: told, and nothing is done about it", () => {
  expect(new Scene().state(B, { lagMs: 10_001 }), "REPLICA_LAGGING", null);
  lacks(new Scene().state(B, { lagMs: 9_000 }), "REPLICA_LAGGING");
});

test("REPLICA_ALARM: told, and nothing is done about it", () => {
  expect(new Scene().state(B, { alarms: ["relay_log_recovery is ON"] }), "REPLICA_ALARM", null);
  lacks(new Scene(), "REPLICA_ALARM");
});

test("SWITCHOVER_REQUESTED: begins on a whole triple with a target that keeps up, waits otherwise", () => {
  const asked = (target: string | null): Scene => {
    const scene = new Scene();
    scene.switchover = { requestId: "r", target };
    return scene;
  };
  expect(asked(B), "SWITCHOVER_REQUESTED", "switchover");
  expect(asked(null), "SWITCHOVER_REQUESTED", "switchover");
  expect(asked(B).state(B, { lagMs: 900 }), "SWITCHOVER_REQUESTED", null);
  includes(asked(B).closed(C), "SWITCHOVER_REQUESTED", "rejoin");
  expect(asked(A), "SWITCHOVER_REQUESTED", "refuse-switchover");
  expect(asked("s1x"), "SWITCHOVER_REQUESTED", "refuse-switchover");
  lacks(new Scene(), "SWITCHOVER_REQUESTED");
});

test("every code of the table has a test", () => {
  const all = [...NO_RECORD_CODES, ...PROBLEM_TABLE.map(({ code }) => code)];
  assert.deepEqual(
    all.filter((code) => !seen.has(code)),
    [],
  );
  assert.equal(new Set(all).size, all.length, "codes are unique");
});
