// Two controllers: one leads, the other takes over wherever the first one stops, and a leader that wakes up late does
// nothing wrong.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple } from "../support/failover-triple.ts";
import { leaderDies, leaderSleeps } from "../support/failover-scenarios.ts";

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
  await triple.startController("hc2");
});
after(() => triple[Symbol.asyncDispose]());
afterEach(() => triple.untilWhole());

const other = (name: string): string => (name === "hc1" ? "hc2" : "hc1");

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

test("a leader that slept through another one's lead begins anew, though nobody leads any more when it wakes up", async () => {
  const leader = await triple.leader();
  const begun = (): number => triple.controllerLog(leader).split("leads the triple").length - 1;
  const before = begun();
  const { child } = triple.controller(leader);
  child.kill("SIGSTOP");
  await triple.until("the other one leads", async () => (await triple.leader()) === other(leader));
  await triple.stopController(other(leader), "SIGTERM");
  child.kill("SIGCONT");
  await triple.until("it leads again", async () => (await triple.leading()) === leader);
  await triple.until("it has begun anew", () => Promise.resolve(begun() === before + 1));
  await triple.startController(other(leader));
});

test("a leader whose lease runs out in the middle of a failover, with nobody to take over, ends it in the audit as well", async () => {
  const leader = await triple.leader();
  await triple.stopController(other(leader), "SIGTERM");
  const { length } = await triple.leads();
  const point = "cas.IDLE:before";
  await triple.fault(leader, point, "hold");
  triple.signalMysqld(await triple.source(), "SIGKILL");
  await triple.untilReached(leader, point);
  const { child } = triple.controller(leader);
  child.kill("SIGSTOP");
  await triple.until("the lease has run out", async () => {
    const rows = (await triple.control("SELECT lease_until < UTC_TIMESTAMP(6) AS ended FROM triples")) as [
      { ended: number }[],
    ];
    return rows[0][0]?.ended === 1;
  });
  const off = triple.fault(leader, point, "off"); // it meets this first when it wakes up, and then its lease
  child.kill("SIGCONT");
  await off;
  await triple.untilWhole();
  await triple.until("the audit has its end", async () => {
    return (await triple.leads()).slice(length).every(({ outcome }) => outcome !== null);
  });
  assert.deepEqual(
    (await triple.leads()).slice(length).map(({ outcome }) => outcome),
    ["DONE"],
  );
  await triple.startController(other(leader));
});

test("a recovery that gave way just before its leader died is ended in the audit by the one who goes on", async () => {
  const leader = await triple.leader();
  const point = "open:before";
  await triple.fault(leader, point, "crash");
  await triple.control(
    `INSERT INTO recoveries (recovery_id, triple_id, stripe, kind, problem, owner, epoch, src_before, start_time)
     SELECT UUID(), triple_id, 1, 'REJOIN', 'ACK_LOST', owner, epoch, src, UTC_TIMESTAMP(3) FROM triples`,
  );
  const { child } = triple.controller(leader);
  triple.signalMysqld(await triple.source(), "SIGKILL");
  await triple.ended(child);
  await triple.untilWhole();
  await triple.until("every row has its end", async () => {
    return (await triple.recoveries()).every(({ outcome }) => outcome !== null);
  });
  const rows = await triple.recoveries();
  assert.equal(rows.find(({ problem }) => problem === "ACK_LOST")?.outcome, "FAILED");
  assert.equal(rows.findLast(({ kind }) => kind === "LEAD")?.outcome, "DONE");
  await triple.startController(leader);
});

for (const point of ["cas.PROMOTE:before", "cas.PROMOTE:after", "open:after"]) {
  test(`the leader dies at ${point} of a failover: the other one completes it`, () => leaderDies(triple, point));
}

test("a leader that sleeps before it prepares the new source wakes up late and does nothing wrong", () =>
  leaderSleeps(triple, "prepare:before"));
