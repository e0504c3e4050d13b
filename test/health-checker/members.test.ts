// Members of the ack-set that are away: what may be promoted, and what may not.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple } from "../support/failover-triple.ts";
import { assertIntact, holds, loaded, untilAcked } from "../support/failover-scenarios.ts";

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
});
after(() => triple[Symbol.asyncDispose]());
afterEach(async () => {
  await triple.heal();
  await triple.untilWhole();
});

test("a member that is lost leaves the ack-set, and then a crash of the source is survived without it", async () => {
  const source = await triple.source();
  const [kept, lost] = await triple.replicas();
  const load = await loaded(triple);
  await triple.takeDown(lost);
  await triple.until("it is dropped", async () => {
    const record = await triple.record();
    return record?.phase === "IDLE" && record.ack_set.join() === kept;
  });
  await triple.takeDown(source);
  await triple.until("the other one leads", async () => (await triple.source()) === kept);
  await triple.bringUp(lost);
  await untilAcked(triple, load, 60_000);
  await triple.bringUp(source);
  await assertIntact(triple, load);
});

test("a member lost and the source killed before it was dropped: nobody is promoted, the source leads again", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const [, lost] = await triple.replicas();
  const load = await loaded(triple);
  await triple.takeDown(lost);
  triple.signalMysqld(source, "SIGKILL");
  await triple.until("it leads again", async () => (await triple.leads()).length > length);
  await untilAcked(triple, load);
  assert.equal(await triple.source(), source);
  await triple.bringUp(lost);
  await assertIntact(triple, load);
  const leads = (await triple.leads()).slice(length);
  assert.deepEqual(
    leads.map(({ src_after: src, outcome }) => `${outcome} ${src}`),
    [`DONE ${source}`],
  );
});

test("source and one member gone with their agents: no promotion of the other alone; with one of them back, it goes on", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const [, lost] = await triple.replicas();
  const load = await loaded(triple);
  await triple.takeDown(lost);
  await triple.takeDown(source);
  await triple.until("it is told", async () => (await triple.problems()).includes("SOURCE_GONE_MEMBER_LOST"));
  await holds("nobody is promoted", 2_000, async () => (await triple.leads()).length === length);
  await triple.bringUp(lost);
  await untilAcked(triple, load, 60_000);
  assert.notEqual(await triple.source(), source);
  await triple.bringUp(source);
  await assertIntact(triple, load);
});

test("the new source dies right after its promotion: it leads again, every write is there", async () => {
  const source = await triple.source();
  const load = await loaded(triple);
  await triple.takeDown(source);
  await triple.until("another one leads", async () => {
    const record = await triple.record();
    return record?.phase === "IDLE" && record.src !== source;
  });
  const next = await triple.source();
  triple.signalMysqld(next, "SIGKILL");
  await untilAcked(triple, load, 60_000);
  await triple.bringUp(source);
  await assertIntact(triple, load);
});

test("the source's disk lost: a replica leads, and the lost server is cloned without a person", async () => {
  const source = await triple.source();
  const load = await loaded(triple);
  await triple.takeDown(source);
  await triple.wipe(source);
  await triple.bringUp(source);
  await triple.until("another one leads", async () => (await triple.source()) !== source);
  await assertIntact(triple, load);
});
