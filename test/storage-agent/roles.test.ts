import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type mysql from "mysql2/promise";
import { monotonicMs } from "../../runtime/clock.ts";
import { AgentTriple } from "../support/agent-triple.ts";
import type { AgentState } from "../../core/agent-wire.ts";

let triple: AgentTriple;
before(async () => {
  triple = await AgentTriple.start();
});
after(() => triple[Symbol.asyncDispose]());

const RECEIVED_MAX_MS = 60_000;
const TABLE = "stripe_0001_p1.proof";

async function writeAt(name: string, id: number): Promise<void> {
  await triple.query(name, "app", `INSERT INTO ${TABLE} VALUES (${id})`);
}

const hasRow = async (name: string, id: number): Promise<boolean> =>
  (await triple.query(name, "viewer", `SELECT id FROM ${TABLE} WHERE id = ${id}`)).length === 1;

async function untilRow(name: string, id: number): Promise<void> {
  await triple.until(name, () => true);
  for (let tries = 0; !(await hasRow(name, id)); tries += 1) {
    assert.ok(tries < 300, `row ${id} does not come to ${name}`);
    await triple.observe(name);
  }
}

/** Waits until that many bytes of the present binary log have been received. */
async function untilReceived(name: string, bytes: number): Promise<void> {
  const connection = await triple.connect(name, "root");
  const limit = monotonicMs() + RECEIVED_MAX_MS;
  for (let seen = 0; seen < bytes; ) {
    assert.ok(monotonicMs() < limit, `${name} has received ${seen} bytes of ${bytes}`);
    const [rows] = await connection.query<mysql.RowDataPacket[]>("SHOW REPLICA STATUS");
    seen = Number(rows[0]?.["Read_Source_Log_Pos"]);
  }
  connection.destroy();
}

const sourceSet = (state: AgentState): string => state.mysql?.executed ?? "";

test("a triple opens: one writer, two readers, and a write reaches both replicas", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  await triple.query("s1a", "migrate", "CREATE DATABASE stripe_0001_p1");
  await triple.query("s1a", "migrate", `CREATE TABLE ${TABLE} (id INT PRIMARY KEY)`);
  await writeAt("s1a", 1);
  await untilRow("s1b", 1);
  await untilRow("s1c", 1);
  await triple.untilGet("s1a", "/writer", 200);
  await triple.untilGet("s1b", "/reader", 200);
  await triple.untilGet("s1c", "/reader", 200);
  assert.equal(await triple.get("s1a", "/reader"), 503);
  assert.equal(await triple.get("s1b", "/writer"), 503);
  const [identity] = await triple.query("s1b", "viewer", "SELECT triple_id FROM ha.identity");
  assert.equal(identity?.["triple_id"], "t0001");
});

test("an agent's metrics tell its server's role and every command that it was sent", async () => {
  const { host, port } = triple.server("s1a").config;
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  assert.match(text, /^agent_server_role\{[^}]*server="s1a"[^}]*role="open"[^}]*\} 1$/m);
  assert.match(text, /^agent_commands_total\{[^}]*command="open"[^}]*outcome="done"[^}]*\} [1-9]/m);
});

test("the beat runs on the source alone, and replicas learn their lag from it", async () => {
  const source = await triple.until("s1a", ({ beat }) => (beat?.written ?? 0) > 2);
  assert.equal(source.beat?.hangs, false);
  assert.deepEqual(source.alarms, []);
  const replica = await triple.until("s1b", ({ mysql }) => mysql?.receiver?.receiving === true);
  assert.equal(replica.beat, null);
  assert.ok(replica.lagMs !== null && replica.lagMs < 5_000);
});

test("replicas are relaxed, the source is not, and a promoted replica no longer is", async () => {
  assert.equal((await triple.observe("s1a")).mysql?.relaxed, false);
  const replica = await triple.observe("s1b");
  assert.equal(replica.mysql?.relaxed, true);
  assert.notEqual(replica.file?.relaxedBootId, null);
  await triple.reign("s1b", ["s1a", "s1c"]);
  const promoted = await triple.observe("s1b");
  assert.equal(promoted.mysql?.relaxed, false);
  assert.equal(promoted.file?.relaxedBootId, null);
  await writeAt("s1b", 2);
  await triple.reign("s1a", ["s1b", "s1c"]);
  assert.ok(await hasRow("s1a", 2));
});

test("clients cannot write on a replica, nor on a prepared server", async () => {
  await assert.rejects(writeAt("s1b", 3), /read-only/);
  triple.nextEpoch();
  for (const name of ["s1a", "s1b", "s1c"]) await triple.done(name, "revoke", { mode: "graceful" });
  await triple.done("s1a", "prepare", { followers: ["s1b"] });
  await assert.rejects(writeAt("s1a", 3), /read-only/);
  assert.equal((await triple.observe("s1a")).role, "prepared");
});

test("open is refused unless the server was prepared under the same epoch", async () => {
  const before_ = triple.epoch;
  assert.match(await triple.refused("s1a", "open", {}, triple.nextEpoch()), /^REFUSED: not prepared under this epoch/);
  assert.ok(triple.epoch > before_);
  assert.match(await triple.refused("s1b", "open", {}), /^REFUSED/);
});

test("a prepared server that was never opened is disarmed in place", async () => {
  const pid = triple.mysqldPid("s1a");
  const { state } = await triple.done("s1a", "revoke", { mode: "kill" }, triple.nextEpoch());
  assert.equal(state.role, "closed");
  assert.equal(state.process.pid, pid);
});

test("prepare and open twice under one epoch, and under the next while open, change nothing for clients", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  await triple.done("s1a", "prepare", { followers: ["s1b", "s1c"] });
  await triple.done("s1a", "open", {});
  triple.nextEpoch();
  await triple.done("s1a", "prepare", { followers: ["s1b", "s1c"] });
  const { firstWriteCommitted, state } = await triple.done("s1a", "open", {});
  assert.equal(firstWriteCommitted, true);
  assert.equal(state.file?.openEpoch, triple.epoch);
  await writeAt("s1a", 4);
  assert.equal(state.mysql?.dumpThreads.length, 2, "the receivers were not disturbed");
});

test("a following server is not prepared, and an open one does not follow", async () => {
  assert.match(await triple.refused("s1b", "prepare", { followers: [] }), /^REFUSED: not closed/);
  const source = await triple.observe("s1b");
  const sourceUuid = source.mysql?.serverUuid ?? "";
  const follow = { source: "s1b", sourceUuid, sourceSet: sourceSet(source), tenure: triple.epoch };
  assert.match(await triple.refused("s1a", "follow", follow), /^REFUSED: stained/);
});

test("follow fails, and leaves the receiver stopped, when the source is not the server that was meant", async () => {
  const { state } = await triple.done("s1c", "revoke", { mode: "graceful" });
  const source = await triple.observe("s1a");
  const follow = { source: "s1a", sourceSet: sourceSet(source), tenure: source.file?.openEpoch ?? 0 };
  const wrong = { ...follow, sourceUuid: state.mysql?.serverUuid ?? "" };
  assert.match(await triple.refused("s1c", "follow", wrong), /^FAILED: the source is/);
  assert.equal((await triple.observe("s1c")).role, "closed");
  await triple.follow("s1c", source);
});

test("a cut replica cannot come back until it is admitted, and every acknowledged write is in the cut's answer", async () => {
  triple.nextEpoch();
  await writeAt("s1a", 5);
  const cut = await triple.done("s1a", "cut", { replica: "s1c" });
  assert.deepEqual(cut.state.mysql?.unlockedAccounts, ["repl_b"]);
  assert.deepEqual(
    cut.state.mysql?.dumpThreads.map(({ user }) => user),
    ["repl_b"],
  );
  const outside = await triple.until("s1c", ({ mysql }) => mysql?.receiver?.io !== "Yes");
  assert.equal(outside.mysql?.receiver?.receiving, false);
  await writeAt("s1a", 6);
  await triple.until("s1c", ({ mysql }) => mysql?.receiver?.ioErrno === 3118);
  const [row] = await triple.query(
    "s1a",
    "viewer",
    `SELECT GTID_SUBSET('${sourceSet(cut.state)}', @@gtid_executed) AS within`,
  );
  assert.equal(row?.["within"], 1);

  triple.nextEpoch();
  await triple.done("s1c", "revoke", { mode: "graceful" });
  const { state } = await triple.done("s1a", "admit", { replica: "s1c" });
  await triple.follow("s1c", state);
  await untilRow("s1c", 6);
});

test("admit and cut are refused on a server that is not the source", async () => {
  assert.match(await triple.refused("s1b", "admit", { replica: "s1c" }), /^REFUSED: not a source/);
  assert.match(await triple.refused("s1b", "cut", { replica: "s1c" }), /^REFUSED: not a source/);
  assert.match(await triple.refused("s1a", "cut", { replica: "s9z" }), /^REFUSED: unknown replica/);
});

test("a mysqld that was killed comes back closed, and an acknowledged write is on the server that leads next", async () => {
  await writeAt("s1a", 7);
  process.kill(triple.mysqldPid("s1a"), "SIGKILL");
  const back = await triple.until("s1a", ({ role, process: p }) => role === "closed" && p.starts > 1);
  assert.equal(back.mysql?.receiver, null);
  assert.equal(await triple.get("s1a", "/writer"), 503);
  triple.nextEpoch();
  for (const name of ["s1b", "s1c"]) await triple.done(name, "revoke", { mode: "graceful" });
  const applied = await triple.done("s1b", "apply", {});
  assert.ok(applied.state.mysql?.executed);
  const { state } = await triple.done("s1b", "prepare", { followers: ["s1c"] });
  await triple.follow("s1c", state);
  await triple.done("s1b", "open", {});
  assert.ok(await hasRow("s1b", 7));
  await writeAt("s1b", 8);
  await untilRow("s1c", 8);
});

test("a replica whose receiver was stopped inside a transaction is promoted at once", async () => {
  const big = "stripe_0001_p1.big";
  await triple.query("s1b", "migrate", `CREATE TABLE ${big} (id INT AUTO_INCREMENT PRIMARY KEY, t LONGTEXT)`);
  const writer = await triple.connect("s1b", "root");
  writer.on("error", () => {});
  // A compressed transaction is one event, and has no inside at which a receiver could stop.
  await writer.query("SET SESSION binlog_transaction_compression = OFF");
  await writer.query(`INSERT INTO ${big} (t) VALUES (REPEAT('x', 1000000))`);
  await writer.query("START TRANSACTION");
  for (let doubled = 0; doubled < 7; doubled += 1) await writer.query(`INSERT INTO ${big} (t) SELECT t FROM ${big}`);
  const outcome = writer.query("COMMIT").then(
    () => "acknowledged",
    () => "lost",
  );
  await untilReceived("s1c", 10_000_000);
  triple.nextEpoch();
  await triple.done("s1c", "revoke", { mode: "graceful" });
  await triple.done("s1b", "revoke", { mode: "kill" });
  assert.equal(await outcome, "lost");
  writer.destroy();
  await triple.done("s1c", "apply", {});
  const begun = performance.now();
  await triple.done("s1c", "prepare", { followers: [] });
  assert.ok(performance.now() - begun < 4_000, "STOP REPLICA alone would wait for the rest of the transaction");
});

test("shutdown stops mysqld in order and does not start it again", async () => {
  const pid = triple.mysqldPid("s1c");
  await triple.server("s1c").client.shutdown(20_000);
  assert.throws(() => process.kill(pid, 0));
  const state = await triple.until("s1c", ({ role }) => role === "down");
  assert.equal(state.process.running, false);
});
