// The counterexamples that the protocol was corrected for, each driven in its own order on a real triple. The names
// (K1 …) are those of the specification; K8, K9, K10 and K19 are tests of the agent alone (test/storage-agent).
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentState, CommandArgs, CommandName, CommandReply } from "../../core/agent-wire.ts";
import { type FailoverTriple, ledgerInsert } from "../support/failover-triple.ts";
import { assertIntact, holds, loaded, untilAcked } from "../support/failover-scenarios.ts";
import { NAMES, withLinkedTriple } from "../support/linked-triple.ts";
import type { ReplicationLinks } from "../support/replication-link.ts";

let triple: FailoverTriple;
let links: ReplicationLinks;
withLinkedTriple((started) => {
  ({ triple, links } = started);
});

/** One acknowledged write. */
async function write(server: string): Promise<number> {
  const id = triple.nextLedgerId();
  await triple.agents.query(server, "app", ledgerInsert(id));
  return id;
}

/** A write whose answer nobody waits for. */
function writeUnanswered(server: string): number {
  const id = triple.nextLedgerId();
  triple.agents.query(server, "app", ledgerInsert(id)).catch(() => {});
  return id;
}

async function holdsRow(server: string, id: number): Promise<boolean> {
  return (await triple.ledger(server)).has(id);
}

function late<C extends CommandName>(
  server: string,
  command: C,
  epoch: number,
  args: CommandArgs<C>,
): Promise<CommandReply> {
  return triple.agents.server(server).client.command(command, epoch, args, 5_000);
}

async function epochNow(): Promise<number> {
  return (await triple.record())?.epoch ?? 0;
}

async function ackSet(): Promise<string> {
  return (await triple.record())?.ack_set.join() ?? "";
}

const uuidOf = (state: AgentState): string => state.mysql?.serverUuid ?? "";

async function leadsLength(): Promise<number> {
  return (await triple.leads()).length;
}

test("K1: a new source stays in the ack-set until a follower has caught up, so the other one is not promoted alone", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  links.get(c, a).set("silent"); // c is behind
  const id = await write(a);
  await triple.fault("hc1", "follow:before", "hold");
  await triple.takeDown(a);
  await triple.untilReached("hc1", "follow:before");
  assert.equal(await triple.source(), b);
  assert.ok((await ackSet()).split(",").includes(b), await ackSet());
  await triple.takeDown(b);
  await triple.fault("hc1", "follow:before", "off");
  await holds("c, which lacks the write, does not lead", 3_000, async () => (await triple.source()) === b);
  await triple.bringUp(b);
  await triple.bringUp(a);
  await triple.untilWhole();
  assert.ok(await holdsRow(await triple.source(), id));
});

test("K2, K3: a member is dropped only when another one holds what it may have covered", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  await triple.hide(b); // b lives, and acknowledges, but not for us
  await triple.fault("hc1", `cut@${a}:before`, "hold");
  await triple.untilReached("hc1", `cut@${a}:before`);
  links.get(c, a).set("silent");
  const id = await write(a);
  await triple.fault("hc1", `cut@${a}:before`, "off");
  const { length } = await triple.leads();
  await holds("the record stays wide", 2_000, async () => (await ackSet()) === [b, c].toSorted().join());
  await triple.takeDown(a);
  await holds("c alone is not promoted", 3_000, async () => (await leadsLength()) === length);
  await triple.show(b);
  await triple.until("somebody leads", async () => (await leadsLength()) > length);
  links.openAll();
  await triple.bringUp(a);
  await triple.untilWhole();
  assert.ok(await holdsRow(await triple.source(), id));
});

test("K4: commands of before a narrowing, arriving late, do not let the dropped member acknowledge again", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  const oldEpoch = await epochNow();
  const sourceState = await triple.agents.observe(a);
  await triple.hide(b);
  await triple.until("b is dropped", async () => (await ackSet()) === c);
  const admitted = await late(a, "admit", oldEpoch, { replica: b });
  assert.equal(admitted.ok, false);
  const tenure = (await triple.record())?.tenure ?? 0;
  const follow = { source: a, sourceUuid: uuidOf(sourceState), sourceSet: sourceState.mysql?.executed ?? "", tenure };
  await late(b, "follow", oldEpoch, follow);
  const dumping = await triple.agents.observe(a);
  assert.ok(!dumping.mysql?.dumpThreads.some(({ user }) => user.endsWith("_b") && b.endsWith("b")), "b is not served");
  links.get(c, a).set("silent");
  const id = writeUnanswered(a);
  await holds("the write is not acknowledged", 1_000, async () => !(await holdsRow(a, id)));
  links.openAll();
  await triple.show(b);
});

test("K5, T27: with the control database away after REVOKE nothing is opened; back again, the failover goes on", async () => {
  const a = await triple.source();
  const load = await loaded(triple);
  await triple.fault("hc1", "cas.PROMOTE:before", "hold");
  triple.signalMysqld(a, "SIGKILL");
  await triple.untilReached("hc1", "cas.PROMOTE:before");
  process.kill(triple.controlServer.pid, "SIGSTOP");
  await triple.fault("hc1", "cas.PROMOTE:before", "off");
  const opened = async (): Promise<boolean> => {
    const states = await Promise.all(NAMES.map((name) => triple.agents.observe(name)));
    return states.some(({ role }) => role === "open" || role === "prepared");
  };
  await holds("nobody is prepared or opened", 3_000, async () => !(await opened()));
  process.kill(triple.controlServer.pid, "SIGCONT");
  await untilAcked(triple, load);
  await assertIntact(triple, load);
});

test("T27: with the control database away after PROMOTE the new source is opened all the same", async () => {
  const a = await triple.source();
  const load = await loaded(triple);
  await triple.fault("hc1", "prepare:before", "hold");
  triple.signalMysqld(a, "SIGKILL");
  await triple.untilReached("hc1", "prepare:before");
  process.kill(triple.controlServer.pid, "SIGSTOP");
  await triple.fault("hc1", "prepare:before", "off");
  await untilAcked(triple, load);
  process.kill(triple.controlServer.pid, "SIGCONT");
  await assertIntact(triple, load);
});

test("K7: what an earlier leader sends after a takeover is refused, though it is the same promotion", async () => {
  const a = await triple.source();
  await triple.startController("hc2");
  const leader = await triple.leader();
  const load = await loaded(triple);
  await triple.fault(leader, "cas.PROMOTE:after", "crash");
  const { child } = triple.controller(leader);
  triple.signalMysqld(a, "SIGKILL");
  await triple.ended(child);
  triple.controllers.delete(leader);
  const recorded = await triple.record();
  await untilAcked(triple, load);
  const record = await triple.record();
  assert.equal(record?.src, recorded?.src, "K6: never back to the former source");
  const reply = await late(record?.src ?? "", "prepare", recorded?.epoch ?? 0, { followers: [] });
  assert.ok(!reply.ok && reply.code === "STALE_EPOCH");
  await assertIntact(triple, load);
  await triple.stopController((await triple.leader()) === "hc1" ? "hc1" : "hc2", "SIGTERM");
  await triple.startController("hc1");
});

test("K9: an agent that dies between its file and its SQL is asked again; the acknowledged write survives", async () => {
  const a = await triple.source();
  const [b] = await triple.replicas();
  const load = await loaded(triple);
  await triple.agents.server(b).client.fault({ command: "revoke", place: "after-fsync", mode: "crash" }, 2_000);
  const agent = triple.agents.server(b).agent;
  triple.signalMysqld(a, "SIGKILL");
  if (agent !== null) await triple.ended(agent);
  await triple.bringUp(b);
  await assertIntact(triple, load);
});

test("K11: a revoked replica that restarts stays closed and acknowledges nothing", async () => {
  const a = await triple.source();
  const [, c] = await triple.replicas();
  const load = await loaded(triple);
  await triple.fault("hc1", "cas.PROMOTE:before", "hold");
  triple.signalMysqld(a, "SIGSTOP");
  const pid = triple.agents.mysqldPid(a);
  await triple.untilReached("hc1", "cas.PROMOTE:before");
  triple.signalMysqld(c, "SIGKILL");
  const state = await triple.agents.until(c, ({ mysql, process: { starts } }) => mysql !== null && starts > 1);
  assert.equal(state.role, "closed");
  triple.wake(pid);
  await triple.fault("hc1", "cas.PROMOTE:before", "off");
  await assertIntact(triple, load);
});

test("K12: a server is in the record before it can acknowledge", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  await triple.takeDown(b);
  await triple.until("b is dropped", async () => (await ackSet()) === c);
  await triple.fault("hc1", "cas.WIDEN:before", "hold");
  await triple.bringUp(b);
  await triple.untilReached("hc1", "cas.WIDEN:before");
  const [source, replica] = [await triple.agents.observe(a), await triple.agents.observe(b)];
  assert.equal(replica.role, "closed");
  assert.ok(!source.mysql?.unlockedAccounts.includes(`repl_${b.slice(-1)}`));
  await triple.fault("hc1", "cas.WIDEN:before", "off");
});

test("K13: an old source that wakes with a pending write is killed before it is compared, and the write never returns", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  for (const replica of [b, c]) links.get(replica, a).set("silent");
  const id = writeUnanswered(a);
  await triple.agents.until(a, ({ mysql }) => (mysql?.waitSessions ?? 0) > 0);
  triple.signalMysqld(a, "SIGSTOP");
  const pid = triple.agents.mysqldPid(a);
  await triple.until("another one leads", async () => (await triple.source()) !== a);
  links.openAll();
  triple.wake(pid);
  await triple.untilWhole();
  for (const name of NAMES) assert.ok(!(await holdsRow(name, id)), `${name} has the discarded write`);
  const rebuilt = (await triple.recoveries()).findLast(({ kind }) => kind === "REBUILD");
  assert.equal(rebuilt?.victim, a);
});

test("K14, T29: a member that restarts with a pending write lets it go on, and is not rebuilt for it", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  const { length } = await triple.recoveries();
  links.get(b, a).set("deaf-source"); // b receives, its acknowledgements are lost
  await triple.takeDown(c);
  const id = writeUnanswered(a);
  await triple.agents.until(a, ({ mysql }) => (mysql?.waitSessions ?? 0) > 0);
  triple.signalMysqld(b, "SIGKILL");
  links.get(b, a).set("open");
  await triple.until("the write is committed", () => holdsRow(a, id));
  const since = (await triple.recoveries()).slice(length);
  assert.ok(!since.some(({ kind, victim }) => kind === "REBUILD" && victim === b), "b was not rebuilt");
  await triple.bringUp(c);
});

test("E20: lost acknowledgements: the receivers are restarted and the writes go on", async () => {
  const a = await triple.source();
  const replicas = await triple.replicas();
  for (const replica of replicas) links.get(replica, a).set("deaf-source");
  const id = writeUnanswered(a);
  await triple.agents.until(a, ({ beat }) => beat?.hangs === true);
  const { length } = await triple.leads();
  links.openAll();
  await triple.until("the write is committed", () => holdsRow(a, id), 15_000);
  assert.equal(await triple.source(), a);
  assert.equal((await triple.leads()).length, length);
});

test("K15: a member whose disk is lost counts as unread: nobody is promoted on the other one's word", async () => {
  const a = await triple.source();
  const [, c] = await triple.replicas();
  const load = await loaded(triple);
  await triple.takeDown(c);
  await triple.wipe(c);
  await triple.takeDown(a);
  const { length } = await triple.leads();
  await triple.bringUp(c);
  await triple.untilProblem("SOURCE_GONE_MEMBER_LOST");
  await holds("nobody is promoted", 3_000, async () => (await leadsLength()) === length);
  await triple.bringUp(a);
  await assertIntact(triple, load);
  assert.equal(await triple.source(), a);
});

test("K17: one replica fenced is not enough", async () => {
  const a = await triple.source();
  const [, c] = await triple.replicas();
  const load = await loaded(triple);
  await triple.agents.server(c).client.fault({ command: "revoke", place: "before-sql", mode: "hold" }, 2_000);
  await triple.takeDown(a);
  await triple.until("REVOKE", async () => (await triple.record())?.phase === "REVOKE");
  await holds("no promotion", 3_000, async () => (await triple.record())?.phase === "REVOKE");
  await triple.agents.server(c).client.fault({ command: "revoke", place: "before-sql", mode: "off" }, 2_000);
  await untilAcked(triple, load);
  await triple.bringUp(a);
  await assertIntact(triple, load);
});

test("K18, K20: a source that leads again alone drops no member and keeps its tenure", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  const load = await loaded(triple);
  const before = await triple.record();
  await Promise.all([triple.takeDown(b), triple.takeDown(c)]);
  const { length } = await triple.leads();
  triple.signalMysqld(a, "SIGKILL");
  await triple.until("it leads again", async () => {
    const record = await triple.record();
    return (await leadsLength()) > length && record?.phase === "IDLE";
  });
  const record = await triple.record();
  assert.deepEqual([record?.src, record?.tenure, record?.ack_set], [a, before?.tenure, before?.ack_set]);
  await Promise.all([triple.bringUp(b), triple.bringUp(c)]);
  await assertIntact(triple, load);
});
