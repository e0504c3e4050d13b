// Planned changes of source: short, without an unknown outcome, and undone when a step does not work.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple, TABLE } from "../support/failover-triple.ts";
import { assertIntact, loaded, switchOver, untilAcked } from "../support/failover-scenarios.ts";

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
});
after(() => triple[Symbol.asyncDispose]());
afterEach(() => triple.untilWhole());

test("a switchover under load: no unknown outcome, and the old source follows", async () => {
  const source = await triple.source();
  const [target] = await triple.replicas();
  const load = await loaded(triple);
  assert.deepEqual(await switchOver(triple, target), { state: "DONE", detail: null });
  await untilAcked(triple, load);
  const gapMs = load.takeLongestGapMs();
  assert.equal(await triple.source(), target);
  await assertIntact(triple, load);
  assert.deepEqual([...load.unknown], []);
  assert.ok(gapMs < 20_000, `paused for ${gapMs} ms`); // how short it is, the bench tells
  const lead = (await triple.leads()).at(-1);
  assert.deepEqual(
    [lead?.kind, lead?.outcome, lead?.src_before, lead?.src_after],
    ["SWITCHOVER", "DONE", source, target],
  );
});

test("without a target the controller chooses one; back and forth nothing is left behind", async () => {
  for (let round = 0; round < 3; round += 1) {
    const source = await triple.source();
    const { state } = await switchOver(triple, null);
    assert.equal(state, "DONE");
    assert.notEqual(await triple.source(), source);
    await triple.untilWhole();
  }
  const alarms = await Promise.all(
    triple.agents.servers.map(async ({ name }) => (await triple.agents.observe(name)).alarms),
  );
  assert.deepEqual(alarms.flat(), []);
});

test("a target that is the source, or no server of the triple, is refused", async () => {
  const source = await triple.source();
  assert.equal((await switchOver(triple, source)).state, "REFUSED");
  assert.equal((await switchOver(triple, "s9z")).state, "REFUSED");
  assert.equal(await triple.source(), source);
});

test("a schema change in flight: the switchover is undone, the source goes on, nothing else happens", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const session = await triple.agents.connect(source, "migrate");
  await session.query("LOCK TABLES stripe_0001_p1.ledger WRITE").catch(() => {});
  const holder = await triple.agents.connect(source, "root");
  await holder.query(`LOCK TABLES ${TABLE} WRITE`);
  const { state, detail } = await switchOver(triple, null);
  assert.equal(state, "UNDONE", detail ?? "");
  holder.destroy();
  session.destroy();
  assert.equal(await triple.source(), source);
  const load = await loaded(triple);
  await assertIntact(triple, load);
  assert.deepEqual(
    (await triple.leads()).slice(length).map(({ outcome }) => outcome),
    ["UNDONE"],
  );
});

test("a target that does not catch up: the old source leads again, with every write", async () => {
  const source = await triple.source();
  const [target, third] = await triple.replicas();
  const load = await loaded(triple);
  // Its receiver is held up where nothing else notices for a moment: its server sleeps.
  const pid = triple.agents.mysqldPid(target);
  const requested = switchOver(triple, target);
  await triple.until("the switchover begins", async () => (await triple.record())?.phase === "REVOKE");
  process.kill(pid, "SIGSTOP");
  const { state } = await requested;
  triple.wake(pid);
  await untilAcked(triple, load);
  const now = await triple.source();
  assert.ok(state === "UNDONE" ? now === source || now === third : now === target, `${state}: ${now}`);
  await assertIntact(triple, load);
});

test("a request that nobody could carry out in time expires", async () => {
  const source = await triple.source();
  const [target] = await triple.replicas();
  triple.signalMysqld(target, "SIGSTOP");
  const pid = triple.agents.mysqldPid(target);
  await triple.until("the triple is not whole", async () => (await triple.problems()).includes("REPLICA_AWAY"));
  const { state } = await switchOver(triple, target, 700);
  triple.wake(pid);
  assert.equal(state, "EXPIRED");
  assert.equal(await triple.source(), source);
});
