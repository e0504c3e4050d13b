// Two controllers: one leads, the other takes over wherever the first one stops, and a leader that wakes up late does
// nothing wrong.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple } from "../support/failover-triple.ts";
import { assertIntact, holds, loaded, untilAcked } from "../support/failover-scenarios.ts";

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
  await triple.startController("hc2");
});
after(() => triple[Symbol.asyncDispose]());
afterEach(() => triple.untilWhole());

const other = (name: string): string => (name === "hc1" ? "hc2" : "hc1");

/** Recoveries that changed the source since a moment, and how they ended. */
async function leadsSince(count: number): Promise<string[]> {
  return (await triple.leads()).slice(count).map(({ outcome, src_after: src }) => `${outcome} ${src}`);
}

test("one of two controllers leads; ended in order, the other one leads at once and changes nothing", async () => {
  const leader = await triple.leader();
  const before = await triple.record();
  await triple.stopController(leader, "SIGTERM");
  await triple.until("the other one leads", async () => (await triple.leader()) === other(leader), 3_000);
  const record = await triple.record();
  assert.equal(record?.epoch, (before?.epoch ?? 0) + 1, "a new owner is a new epoch");
  assert.deepEqual([record?.src, record?.tenure, record?.ack_set], [before?.src, before?.tenure, before?.ack_set]);
  await triple.startController(leader);
});

for (const point of [
  "cas.REVOKE:before",
  "cas.REVOKE:after",
  "revoke:after",
  "cas.PROMOTE:before",
  "cas.PROMOTE:after",
  "prepare:after",
  "open:before",
  "open:after",
  "cas.IDLE:before",
]) {
  test(`the leader dies at ${point} of a failover: the other one completes it`, async () => {
    const source = await triple.source();
    const leader = await triple.leader();
    const { length } = await triple.leads();
    const load = await loaded(triple);
    const dying = triple.controller(leader).child;
    await triple.fault(leader, point, "crash");
    triple.signalMysqld(source, "SIGKILL");
    await triple.ended(dying);
    triple.controllers.delete(leader);
    await untilAcked(triple, load);
    assert.equal(await triple.leader(), other(leader));
    await assertIntact(triple, load);
    const leads = await leadsSince(length);
    const ends = leads.map((lead) => lead.split(" ")[0]);
    assert.deepEqual(ends, ["DONE"], `one recovery in the audit, whoever carried it out: ${leads.join()}`);
    await triple.startController(leader);
  });
}

for (const point of ["cas.REVOKE:before", "cas.PROMOTE:before", "prepare:before", "open:before", "cas.IDLE:before"]) {
  test(`a leader that sleeps before ${point.split(":")[0] ?? ""} of a failover wakes up and does nothing wrong`, async () => {
    const source = await triple.source();
    const leader = await triple.leader();
    const load = await loaded(triple);
    await triple.fault(leader, point, "hold");
    triple.signalMysqld(source, "SIGKILL");
    await triple.untilReached(leader, point);
    const { child } = triple.controller(leader);
    child.kill("SIGSTOP");
    await triple.until("the other one leads", async () => (await triple.leader()) === other(leader));
    await untilAcked(triple, load);
    await triple.untilWhole();
    const record = await triple.record();
    const { length } = await triple.recoveries();
    child.kill("SIGCONT");
    await triple.fault(leader, point, "off");
    await holds("nothing changes", 1_500, async () => (await triple.record())?.version === record?.version);
    assert.equal((await triple.recoveries()).length, length);
    await assertIntact(triple, load);
  });
}
