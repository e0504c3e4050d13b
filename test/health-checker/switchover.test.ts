// Planned changes of source: short, without an unknown outcome, and undone when a step does not work.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple, ledgerInsert, TABLE } from "../support/failover-triple.ts";
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

test("a schema change or a long transaction at the source: refused by name and age, and nothing is changed", async () => {
  const source = await triple.source();
  const before = await triple.record();
  const holder = await triple.agents.connect(source, "app");
  await holder.query("BEGIN");
  await holder.query(ledgerInsert(triple.nextLedgerId()));
  const changer = await triple.agents.connect(source, "migrate");
  const change = changer.query(`ALTER TABLE ${TABLE} COMMENT 'never'`).catch(() => {}); // waits for the transaction
  await triple.until("it waits", async () => {
    const rows = await triple.agents.query(source, "viewer", "SHOW PROCESSLIST");
    return rows.some(({ Info: info }) => String(info).startsWith("ALTER TABLE"));
  });
  const first = await switchOver(triple, null);
  assert.equal(first.state, "REFUSED");
  await triple.agents.query(source, "root", `KILL QUERY ${changer.threadId}`);
  await change;
  changer.destroy();
  assert.match(first.detail ?? "", /^a (schema change of migrate .*ALTER TABLE|transaction of app)/);
  const { client } = triple.agents.server(source);
  await triple.until("the transaction is long", async () => (await client.holdUps(5_000)).length > 0);
  const { state, detail } = await switchOver(triple, null);
  assert.equal(state, "REFUSED");
  assert.match(detail ?? "", /^a transaction of app \(session \d+\) has run for [1-9][\d.]* s at /);
  holder.destroy();
  const after = await triple.record();
  assert.deepEqual([after?.version, after?.epoch, after?.src], [before?.version, before?.epoch, source]);
});

test("semi-sync switched off by hand: the source covers for itself, and a switchover is the way out", async () => {
  const source = await triple.source();
  const load = await loaded(triple);
  await triple.agents.query(source, "root", "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
  await triple.untilProblem("SEMISYNC_TAMPERED");
  await triple.until("it covers", async () => (await triple.record())?.ack_set.includes(source) === true);
  assert.deepEqual(await switchOver(triple, null), { state: "DONE", detail: null });
  assert.notEqual(await triple.source(), source);
  await assertIntact(triple, load);
  assert.deepEqual(await triple.problems(), []);
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
