// Second failures, lost records, partitions: what happens to a triple as a whole. The names are the specification's.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailoverTriple } from "../support/failover-triple.ts";
import { assertIntact, holds, loaded, switchOver, untilAcked } from "../support/failover-scenarios.ts";
import { NAMES, withLinkedTriple } from "../support/linked-triple.ts";
import type { ReplicationLinks } from "../support/replication-link.ts";

let triple: FailoverTriple;
let links: ReplicationLinks;
withLinkedTriple((started) => {
  ({ triple, links } = started);
});

for (const point of ["cas.PROMOTE:after", "open:after", "cas.IDLE:after"]) {
  for (const returns of [true, false]) {
    const title = `T22: the new source's machine dies at ${point}, the old source ${returns ? "back" : "away"}: no write is lost`;
    test(title, async () => {
      const old = await triple.source();
      const load = await loaded(triple);
      await triple.fault("hc1", point, "hold");
      await triple.takeDown(old);
      await triple.untilReached("hc1", point);
      const next = await triple.source();
      assert.notEqual(next, old);
      await triple.takeDown(next);
      if (returns) await triple.bringUp(old);
      await triple.fault("hc1", point, "off");
      if (returns)
        await holds("its going on is only seen, not judged, for a moment", 1_000, () => Promise.resolve(true));
      await triple.bringUp(next);
      await untilAcked(triple, load, 60_000);
      if (!returns) await triple.bringUp(old);
      await assertIntact(triple, load);
    });
  }
}

test("T23: all three killed and the record lost: nothing happens without a person's word, then the last source leads", async () => {
  const before = await triple.source();
  const load = await loaded(triple);
  // The old source keeps a tail that was never acknowledged: it holds most, and must not be taken for the source.
  await triple.takeDown(before);
  await triple.until("another one leads", async () => (await triple.source()) !== before);
  await untilAcked(triple, load);
  const source = await triple.source();
  await triple.stopController("hc1");
  for (const name of NAMES) if (name !== before) triple.signalMysqld(name, "SIGKILL");
  await triple.control("DELETE FROM triples");
  await triple.bringUp(before);
  await triple.startController("hc1");
  await triple.until("the controller says so", async () => (await triple.problemsOf("hc1")).includes("RECORD_LOST"));
  await holds("there is no record", 2_000, async () => (await triple.record()) === null);
  await triple.stopController("hc1");
  await triple.startController("hc1", { RECORD_LOST_CONFIRMED: "t0001" });
  await triple.until("there is a record", async () => (await triple.record()) !== null);
  await triple.untilWhole();
  assert.equal(await triple.source(), source, "K16: the one that was opened last, not the one that holds most");
  await assertIntact(triple, load);
});

test("T24: a source that neither controller reaches, and a replica does, is left alone", async () => {
  await triple.startController("hc2");
  const source = await triple.source();
  const load = await loaded(triple);
  const { length } = await triple.recoveries();
  await triple.hide(source);
  await triple.untilProblem("SOURCE_UNREACHABLE_FROM_HERE");
  await triple.stopController(await triple.leader());
  await triple.until("the other one leads", async () => (await triple.leading()) !== null);
  await triple.untilProblem("SOURCE_UNREACHABLE_FROM_HERE");
  await holds("nothing is recorded", 2_000, async () => (await triple.recoveries()).length === length);
  await triple.show(source);
  await assertIntact(triple, load);
});

test("T25: a clone is killed half-way and then the source: the void server is never read, and ends as a replica", async () => {
  const source = await triple.source();
  const [, lost] = await triple.replicas();
  const load = await loaded(triple);
  await triple.takeDown(lost);
  await triple.until("it is dropped", async () => (await triple.record())?.ack_set.length === 1);
  await triple.wipe(lost);
  await triple.bringUp(lost);
  await triple.agents.until(lost, ({ busy }) => busy?.command === "rebuild-from");
  triple.signalMysqld(lost, "SIGKILL");
  triple.signalMysqld(source, "SIGKILL");
  await untilAcked(triple, load, 60_000);
  assert.notEqual(await triple.source(), lost);
  await assertIntact(triple, load);
});

test("T26: the source's agent dies, its mysqld lives: nothing is done, and writes go on", async () => {
  const source = await triple.source();
  const load = await loaded(triple);
  const { length } = await triple.recoveries();
  await triple.agents.killAgent(source);
  await triple.untilProblem("SOURCE_UNREACHABLE_FROM_HERE");
  await holds("nothing is recorded", 2_000, async () => (await triple.recoveries()).length === length);
  await triple.bringUp(source);
  await assertIntact(triple, load);
  assert.equal((await triple.leads()).length, (await triple.leads()).length);
});

test("T28: source and one replica on one side, the controller and the other replica on the other: nobody is promoted", async () => {
  const source = await triple.source();
  const [near, far] = await triple.replicas();
  const load = await loaded(triple);
  const { length } = await triple.recoveries();
  links.get(far, source).set("silent");
  await triple.hide(source);
  await triple.hide(near);
  await triple.untilProblem("SOURCE_GONE_MEMBER_LOST");
  await untilAcked(triple, load);
  await holds("nothing is recorded", 3_000, async () => (await triple.recoveries()).length === length);
  links.openAll();
  await triple.show(source);
  await triple.show(near);
  await assertIntact(triple, load);
  assert.equal(await triple.source(), source);
});

test("a source cut off from both replicas, with clients and controller reaching it: another one leads", async () => {
  const source = await triple.source();
  const load = await loaded(triple);
  for (const replica of await triple.replicas()) links.get(replica, source).set("cut");
  await triple.until("another one leads", async () => (await triple.source()) !== source, 60_000);
  await untilAcked(triple, load);
  links.openAll();
  await assertIntact(triple, load);
});

test("two of three away, and the old source comes back with a tail of its own: it is cloned while the new one is closed for it", async () => {
  const source = await triple.source();
  const [kept, lost] = await triple.replicas();
  await triple.takeDown(lost);
  await triple.until("it is dropped", async () => (await triple.record())?.ack_set.join() === kept);
  const load = await loaded(triple);
  links.get(kept, source).set("silent");
  await triple.agents.until(source, ({ mysql }) => (mysql?.waitSessions ?? 0) > 0);
  await triple.takeDown(source);
  await triple.until("the other one leads", async () => {
    const record = await triple.record();
    return record?.src === kept && record.phase === "IDLE";
  });
  links.openAll();
  await triple.bringUp(source);
  await untilAcked(triple, load, 90_000);
  assert.equal(await triple.source(), kept);
  await triple.bringUp(lost);
  await assertIntact(triple, load);
});

test("the last acker dies while the third server has no data: the source is closed for the clone, and writes go on", async () => {
  const source = await triple.source();
  const [last, lost] = await triple.replicas();
  await triple.takeDown(lost);
  await triple.until("it is dropped", async () => (await triple.record())?.ack_set.join() === last);
  await triple.wipe(lost);
  const load = await loaded(triple);
  await triple.takeDown(last);
  await triple.agents.until(source, ({ beat }) => beat?.hangs === true);
  await triple.bringUp(lost);
  await untilAcked(triple, load, 90_000);
  assert.equal(await triple.source(), source);
  await triple.bringUp(last);
  await assertIntact(triple, load);
});

const SWITCHOVER_STEPS = [
  "cas.REVOKE:after",
  "revoke:after",
  "cas.PROMOTE:before",
  "cas.PROMOTE:after",
  "prepare:after",
  "open:after",
];
for (const point of SWITCHOVER_STEPS) {
  test(`T20: the controller dies at ${point} of a switchover: the other one ends it, one way or the other`, async () => {
    await triple.startController("hc2");
    const leader = await triple.leader();
    const load = await loaded(triple);
    const { child } = triple.controller(leader);
    await triple.fault(leader, point, "crash");
    const answer = switchOver(triple, null, 30_000);
    await triple.ended(child);
    triple.controllers.delete(leader);
    await untilAcked(triple, load, 60_000);
    assert.ok(["DONE", "UNDONE"].includes((await answer).state));
    await assertIntact(triple, load);
  });
}
