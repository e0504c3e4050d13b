// The counterexamples that the protocol was corrected for, each driven in its own order on a real triple. The names
// (K1 …) are those of the specification; the quick ones are in late.test.ts, K8, K9, K10 and K19 are tests of the agent
// alone (test/storage-agent).
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailoverTriple } from "../support/failover-triple.ts";
import {
  ackSet,
  assertIntact,
  holds,
  holdsRow,
  loaded,
  untilAcked,
  writeRow,
  writeUnanswered,
} from "../support/failover-scenarios.ts";
import { NAMES, withLinkedTriple } from "../support/linked-triple.ts";
import type { ReplicationLinks } from "../support/replication-link.ts";

let triple: FailoverTriple;
let links: ReplicationLinks;
withLinkedTriple((started) => {
  ({ triple, links } = started);
});

async function leadsLength(): Promise<number> {
  return (await triple.leads()).length;
}

test("K1: a new source stays in the ack-set until a follower has caught up, so the other one is not promoted alone", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  links.get(c, a).set("silent"); // c is behind
  const id = await writeRow(triple, a);
  await triple.fault("hc1", "follow:before", "hold");
  await triple.takeDown(a);
  await triple.untilReached("hc1", "follow:before");
  assert.equal(await triple.source(), b);
  assert.ok((await ackSet(triple)).split(",").includes(b), await ackSet(triple));
  await triple.takeDown(b);
  await triple.fault("hc1", "follow:before", "off");
  await holds("c, which lacks the write, does not lead", 3_000, async () => (await triple.source()) === b);
  await triple.bringUp(b);
  await triple.bringUp(a);
  await triple.untilWhole();
  assert.ok(await holdsRow(triple, await triple.source(), id));
});

test("K2, K3: a member is dropped only when another one holds what it may have covered", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  await triple.hide(b); // b lives, and acknowledges, but not for us
  await triple.fault("hc1", `cut@${a}:before`, "hold");
  await triple.untilReached("hc1", `cut@${a}:before`);
  links.get(c, a).set("silent");
  const id = await writeRow(triple, a);
  await triple.fault("hc1", `cut@${a}:before`, "off");
  const { length } = await triple.leads();
  await holds("the record stays wide", 2_000, async () => (await ackSet(triple)) === [b, c].toSorted().join());
  await triple.takeDown(a);
  await holds("c alone is not promoted", 3_000, async () => (await leadsLength()) === length);
  await triple.show(b);
  await triple.until("somebody leads", async () => (await leadsLength()) > length);
  links.openAll();
  await triple.bringUp(a);
  await triple.untilWhole();
  assert.ok(await holdsRow(triple, await triple.source(), id));
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

test("K13: an old source that wakes with a pending write is killed before it is compared, and the write never returns", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  for (const replica of [b, c]) links.get(replica, a).set("silent");
  const id = writeUnanswered(triple, a);
  await triple.agents.until(a, ({ mysql }) => (mysql?.waitSessions ?? 0) > 0);
  triple.signalMysqld(a, "SIGSTOP");
  const pid = triple.agents.mysqldPid(a);
  await triple.until("another one leads", async () => (await triple.source()) !== a);
  links.openAll();
  triple.wake(pid);
  await triple.untilWhole();
  for (const name of NAMES) assert.ok(!(await holdsRow(triple, name, id)), `${name} has the discarded write`);
  const rebuilt = (await triple.recoveries()).findLast(({ kind }) => kind === "REBUILD");
  assert.equal(rebuilt?.victim, a);
});

test("K14, T29: a member that restarts with a pending write lets it go on, and is not rebuilt for it", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  const { length } = await triple.recoveries();
  links.get(b, a).set("deaf-source"); // b receives, its acknowledgements are lost
  await triple.takeDown(c);
  const id = writeUnanswered(triple, a);
  await triple.agents.until(a, ({ mysql }) => (mysql?.waitSessions ?? 0) > 0);
  triple.signalMysqld(b, "SIGKILL");
  links.get(b, a).set("open");
  await triple.until("the write is committed", () => holdsRow(triple, a, id));
  const since = (await triple.recoveries()).slice(length);
  assert.ok(!since.some(({ kind, victim }) => kind === "REBUILD" && victim === b), "b was not rebuilt");
  await triple.bringUp(c);
});

test("E20: lost acknowledgements: the receivers are restarted and the writes go on", async () => {
  const a = await triple.source();
  const replicas = await triple.replicas();
  for (const replica of replicas) links.get(replica, a).set("deaf-source");
  const id = writeUnanswered(triple, a);
  await triple.agents.until(a, ({ beat }) => beat?.hangs === true);
  const { length } = await triple.leads();
  links.openAll();
  await triple.until("the write is committed", () => holdsRow(triple, a, id), 15_000);
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
