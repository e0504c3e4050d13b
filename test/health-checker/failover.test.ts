// One triple, one controller, and whatever can happen to the servers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FailoverTriple } from "../support/failover-triple.ts";
import { assertIntact, holds, loaded, untilAcked } from "../support/failover-scenarios.ts";

/** That writes come back at all; how fast is the bench's to say, on a machine that does nothing else. */
const OUTAGE_MAX_MS = 20_000;

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
});
after(() => triple[Symbol.asyncDispose]());

/** Recoveries that began since a moment, of the kinds that may change the source. */
async function leadsSince(count: number): Promise<string[]> {
  return (await triple.leads()).slice(count).map(({ problem, outcome }) => `${problem} ${outcome}`);
}

async function untilSourceChanges(from: string): Promise<void> {
  await triple.until("another source leads", async () => {
    const record = await triple.record();
    return record?.phase === "IDLE" && record.src !== from;
  });
}

test("a new triple is opened by one recovery, and nothing more is done to it", async () => {
  assert.deepEqual(await leadsSince(0), ["TRIPLE_NEVER_OPENED DONE"]);
  const { length } = await triple.recoveries();
  await holds("no recovery of a whole triple", 1_500, async () => (await triple.recoveries()).length === length);
});

test("kill -9 of the source: another server leads, no acknowledged write is lost, the triple is whole again by itself", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const load = await loaded(triple);
  triple.signalMysqld(source, "SIGKILL");
  await triple.until("a recovery", async () => (await triple.leads()).length > length);
  await untilAcked(triple, load);
  assert.ok(load.takeLongestGapMs() < OUTAGE_MAX_MS);
  await assertIntact(triple, load);
  const [lead, ...more] = await leadsSince(length);
  assert.deepEqual(more, []);
  // A source that was back, closed, before anybody looked leads again; it holds everything.
  assert.match(lead ?? "", /^SOURCE_(DEAD|RESTARTED) DONE$/);
});

test("SIGSTOP of the source: a replica leads; woken, the old source is closed and takes its place", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const load = await loaded(triple);
  const old = triple.agents.mysqldPid(source);
  triple.signalMysqld(source, "SIGSTOP");
  await untilSourceChanges(source);
  await untilAcked(triple, load);
  assert.ok(load.takeLongestGapMs() < OUTAGE_MAX_MS);
  triple.wake(old);
  await assertIntact(triple, load);
  assert.deepEqual(await leadsSince(length), ["SOURCE_HUNG DONE"]);
});

test("a source that is stopped for a second only keeps its place", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const pid = triple.agents.mysqldPid(source);
  triple.signalMysqld(source, "SIGSTOP");
  await holds("it leads", 700, async () => (await triple.source()) === source);
  triple.wake(pid);
  await holds("it still leads", 1_500, async () => (await triple.source()) === source);
  assert.equal((await triple.leads()).length, length);
});

test("a replica killed: writes go on, it comes back and follows", async () => {
  const { length } = await triple.leads();
  const [replica] = await triple.replicas();
  const load = await loaded(triple);
  triple.signalMysqld(replica, "SIGKILL");
  await untilAcked(triple, load);
  assert.ok(load.takeLongestGapMs() < OUTAGE_MAX_MS);
  await assertIntact(triple, load);
  assert.equal((await triple.leads()).length, length);
});

test("both replicas killed: writes wait, nobody is promoted, and they go on when one is back", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  const replicas = await triple.replicas();
  const load = await loaded(triple);
  for (const replica of replicas) triple.signalMysqld(replica, "SIGKILL");
  await assertIntact(triple, load);
  assert.equal(await triple.source(), source);
  assert.equal((await triple.leads()).length, length);
});

test("a source that only the controller cannot reach is left alone: not one recovery is recorded", async () => {
  const source = await triple.source();
  const { length } = await triple.recoveries();
  const load = await loaded(triple);
  const relay = triple.relays.get(source);
  const port = (await relay?.die()) ?? 0;
  await triple.until("the controller says so", async () =>
    (await triple.problems()).includes("SOURCE_UNREACHABLE_FROM_HERE"),
  );
  await holds("it leads and nothing is done", 3_000, async () => (await triple.recoveries()).length === length);
  await relay?.listen(port);
  await assertIntact(triple, load);
  assert.equal((await triple.recoveries()).length, length);
});

test("all three killed at once: one recovery, and every write is there", async () => {
  const { length } = await triple.leads();
  const load = await loaded(triple);
  for (const { name } of triple.agents.servers) triple.signalMysqld(name, "SIGKILL");
  await assertIntact(triple, load);
  const [lead, ...more] = await leadsSince(length);
  assert.deepEqual(more, []);
  assert.match(lead ?? "", /^SOURCE_(DEAD|RESTARTED) DONE$/, "whoever was back first");
});

test("a transaction of a replica's own: it is dropped, its data kept aside and replaced", async () => {
  const [replica] = await triple.replicas();
  const { length } = await triple.recoveries();
  const load = await loaded(triple);
  await triple.agents.query(replica, "root", "SET GLOBAL super_read_only = OFF");
  await triple.agents.query(replica, "root", "UPDATE ha.nudge SET n = 999 WHERE id = 60");
  await triple.agents.query(replica, "root", "SET GLOBAL super_read_only = ON");
  await triple.until(
    "it was rebuilt",
    async () => {
      return (await triple.recoveries()).slice(length).some(({ kind, victim, outcome }) => {
        return kind === "REBUILD" && victim === replica && outcome === "DONE";
      });
    },
    60_000,
  );
  await assertIntact(triple, load);
  const [row] = await triple.agents.query(replica, "viewer", "SELECT n FROM ha.nudge WHERE id = 60");
  assert.notEqual(row?.["n"], 999);
});

test("semi-sync switched off by hand on the source: nobody may lead without it, and a person is told", async () => {
  const source = await triple.source();
  const { length } = await triple.leads();
  await triple.agents.query(source, "root", "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
  await triple.until("it is told", async () => (await triple.problems()).includes("SEMISYNC_TAMPERED"));
  await triple.until("it covers itself", async () => (await triple.record())?.ack_set.includes(source) === true);
  triple.signalMysqld(source, "SIGKILL");
  await triple.untilWhole();
  assert.equal(await triple.source(), source, "it leads again, with what only it may have");
  assert.deepEqual(await leadsSince(length), ["SOURCE_RESTARTED DONE"]);
});
