// The quick ones of the protocol's counterexamples, for every run of the suite: commands that arrive late, agents and
// servers that die in between. See protocol.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentState, CommandArgs, CommandName, CommandReply } from "../../core/agent-wire.ts";
import type { FailoverTriple } from "../support/failover-triple.ts";
import {
  ackSet,
  assertIntact,
  holds,
  holdsRow,
  loaded,
  untilAcked,
  writeUnanswered,
} from "../support/failover-scenarios.ts";
import { withLinkedTriple } from "../support/linked-triple.ts";
import type { ReplicationLinks } from "../support/replication-link.ts";

let triple: FailoverTriple;
let links: ReplicationLinks;
withLinkedTriple((started) => {
  ({ triple, links } = started);
});

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

const uuidOf = (state: AgentState): string => state.mysql?.serverUuid ?? "";

test("K4: commands of before a narrowing, arriving late, do not let the dropped member acknowledge again", async () => {
  const a = await triple.source();
  const [b, c] = await triple.replicas();
  const oldEpoch = await epochNow();
  const sourceState = await triple.agents.observe(a);
  await triple.hide(b);
  await triple.until("b is dropped", async () => (await ackSet(triple)) === c);
  const admitted = await late(a, "admit", oldEpoch, { replica: b });
  assert.equal(admitted.ok, false);
  const tenure = (await triple.record())?.tenure ?? 0;
  const follow = { source: a, sourceUuid: uuidOf(sourceState), sourceSet: sourceState.mysql?.executed ?? "", tenure };
  await late(b, "follow", oldEpoch, follow);
  const dumping = await triple.agents.observe(a);
  assert.ok(!dumping.mysql?.dumpThreads.some(({ user }) => user.endsWith("_b") && b.endsWith("b")), "b is not served");
  links.get(c, a).set("silent");
  const id = writeUnanswered(triple, a);
  await holds("the write is not acknowledged", 1_000, async () => !(await holdsRow(triple, a, id)));
  links.openAll();
  await triple.show(b);
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
  await triple.until("b is dropped", async () => (await ackSet(triple)) === c);
  await triple.fault("hc1", "cas.WIDEN:before", "hold");
  await triple.bringUp(b);
  await triple.untilReached("hc1", "cas.WIDEN:before");
  const [source, replica] = [await triple.agents.observe(a), await triple.agents.observe(b)];
  assert.equal(replica.role, "closed");
  assert.ok(!source.mysql?.unlockedAccounts.includes(`repl_${b.slice(-1)}`));
  await triple.fault("hc1", "cas.WIDEN:before", "off");
});
