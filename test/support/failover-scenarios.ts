// What every failover test begins and ends with.
import assert from "node:assert/strict";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import { type FailoverTriple, ledgerInsert } from "./failover-triple.ts";
import { LedgerLoad } from "./ledger-load.ts";

/** Writers through HAProxy, already acknowledged a few times. */
export async function loaded(triple: FailoverTriple, writers = 4, pauseMs = 0): Promise<LedgerLoad> {
  const target = { ...triple.account("app"), host: "127.0.0.1", port: triple.writerPort };
  const options = { nextId: triple.nextLedgerId, insert: ledgerInsert, pauseMs };
  const load = new LedgerLoad(target, options).start(writers);
  triple.loads.add(load);
  await untilAcked(triple, load);
  load.takeLongestGapMs();
  return load;
}

/** Waits until more writes are acknowledged than were. */
export async function untilAcked(triple: FailoverTriple, load: LedgerLoad, timeoutMs = 30_000): Promise<void> {
  const before = load.acked.size;
  await triple.until("writes are acknowledged", () => Promise.resolve(load.acked.size > before + 20), timeoutMs);
}

/** The end of every scenario: whole again, nothing acknowledged lost, nothing declared refused there, all three equal. */
export async function assertIntact(triple: FailoverTriple, load: LedgerLoad): Promise<void> {
  await triple.untilWhole();
  await untilAcked(triple, load);
  await load.stop();
  const source = await triple.source();
  const ids = await triple.ledger(source);
  const lost = [...load.acked].filter((id) => !ids.has(id));
  assert.deepEqual(lost, [], `acknowledged and lost\n${await triple.describe()}`);
  const risen = [...load.refused].filter((id) => ids.has(id));
  assert.deepEqual(risen, [], "refused and written all the same");
  await untilEqual(triple, source);
}

async function untilEqual(triple: FailoverTriple, source: string): Promise<void> {
  for (const name of await triple.replicas()) {
    await triple.until(`${name} has every row of ${source}`, async () => {
      const want = await triple.ledger(source); // a write of unknown outcome may still be on its way
      const ids = await triple.ledger(name).catch(() => new Set<number>());
      return ids.size === want.size && [...want].every((id) => ids.has(id));
    });
  }
}

/** One acknowledged write, straight at a server. */
export async function writeRow(triple: FailoverTriple, server: string): Promise<number> {
  const id = triple.nextLedgerId();
  await triple.agents.query(server, "app", ledgerInsert(id));
  return id;
}

/** A write whose answer nobody waits for. */
export function writeUnanswered(triple: FailoverTriple, server: string): number {
  const id = triple.nextLedgerId();
  triple.agents.query(server, "app", ledgerInsert(id)).catch(() => {});
  return id;
}

export async function holdsRow(triple: FailoverTriple, server: string, id: number): Promise<boolean> {
  return (await triple.ledger(server)).has(id);
}

/** Names in the ack-set, sorted and joined. */
export async function ackSet(triple: FailoverTriple): Promise<string> {
  return (await triple.record())?.ack_set.join() ?? "";
}

/** Watches for `ms` that something stays true; for tests that nothing happens. */
export async function holds(what: string, ms: number, condition: () => Promise<boolean>): Promise<void> {
  const until = monotonicMs() + ms;
  while (monotonicMs() < until) {
    assert.ok(await condition(), what);
    await sleep(50);
  }
}

/** Asks for a switchover as the ops API does, and waits for its answer. */
export async function switchOver(
  triple: FailoverTriple,
  target: string | null,
  validMs = 15_000,
): Promise<{ readonly state: string; readonly detail: string | null }> {
  const requestId = await triple.requestSwitchover(target, validMs);
  let row = await triple.switchoverRow(requestId);
  await triple.until("the switchover is answered", async () => {
    row = await triple.switchoverRow(requestId);
    return row.state !== "WAITING" && row.state !== "RUNNING";
  });
  return row;
}

const other = (name: string): string => (name === "hc1" ? "hc2" : "hc1");

function untilLeader(triple: FailoverTriple, name: string): Promise<void> {
  return triple.until(`${name} leads`, async () => (await triple.leader()) === name);
}

/**
 * The source is killed, the leading controller dies at a fault point of the failover, the other one completes it. Ends
 * with both controllers running.
 */
export async function leaderDies(triple: FailoverTriple, point: string): Promise<void> {
  const leader = await triple.leader();
  const { length } = await triple.leads();
  const load = await loaded(triple);
  const { child } = triple.controller(leader);
  await triple.fault(leader, point, "crash");
  triple.signalMysqld(await triple.source(), "SIGKILL");
  await triple.ended(child);
  triple.controllers.delete(leader);
  await untilLeader(triple, other(leader));
  await untilAcked(triple, load);
  await assertIntact(triple, load);
  await triple.until("the audit has its end", async () => {
    return (await triple.leads()).slice(length).every(({ outcome }) => outcome !== null);
  });
  const ends = (await triple.leads()).slice(length).map(({ outcome }) => outcome);
  assert.deepEqual(ends, ["DONE"], "one recovery, whoever carried it out");
  await triple.startController(leader);
}

/** The source is killed, the leading controller is stopped at a fault point and wakes when the other one is done. */
export async function leaderSleeps(triple: FailoverTriple, point: string): Promise<void> {
  const leader = await triple.leader();
  const load = await loaded(triple);
  await triple.fault(leader, point, "hold");
  triple.signalMysqld(await triple.source(), "SIGKILL");
  await triple.untilReached(leader, point);
  const { child } = triple.controller(leader);
  child.kill("SIGSTOP");
  await untilLeader(triple, other(leader));
  await untilAcked(triple, load);
  await triple.untilWhole();
  const record = await triple.record();
  const { length } = await triple.recoveries();
  child.kill("SIGCONT");
  await triple.fault(leader, point, "off");
  await holds("nothing changes", 1_500, async () => (await triple.record())?.version === record?.version);
  assert.equal((await triple.recoveries()).length, length);
  await assertIntact(triple, load);
}
