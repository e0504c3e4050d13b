import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import mysql from "mysql2/promise";
import type { AgentFile, AgentState } from "../../core/agent-wire.ts";
import { PRISTINE_WANTED } from "../../storage-agent/data-directory.ts";
import { AgentTriple } from "../support/agent-triple.ts";

let triple: AgentTriple;
before(async () => {
  triple = await AgentTriple.start();
  await triple.reign("s1a", ["s1b", "s1c"]);
  await triple.query("s1a", "migrate", "CREATE DATABASE stripe_0001_p1");
  await triple.query("s1a", "migrate", `CREATE TABLE ${TABLE} (id INT PRIMARY KEY)`);
});
after(() => triple[Symbol.asyncDispose]());

const TABLE = "stripe_0001_p1.proof";
const executedOf = (state: AgentState): string => state.mysql?.executed ?? "";

/** A write whose outcome the caller looks at later; the connection stays open meanwhile. */
async function startWrite(
  name: string,
  id: number,
): Promise<{ outcome: Promise<string>; connection: mysql.Connection }> {
  const connection = await triple.connect(name, "app");
  connection.on("error", () => {});
  const outcome = connection.query(`INSERT INTO ${TABLE} VALUES (${id})`).then(
    () => "acknowledged",
    () => "lost",
  );
  return { outcome, connection };
}

async function rows(name: string): Promise<number[]> {
  const found = await triple.query(name, "viewer", `SELECT id FROM ${TABLE} ORDER BY id`);
  return found.map((row) => Number(row["id"]));
}

/** What `rebuild-from` and `follow` must be told of a source. */
async function sourceArgs(name: string): Promise<{ sourceUuid: string; sourceSet: string; tenure: number }> {
  const { state } = await triple.done(name, "observe", {});
  return {
    sourceUuid: state.mysql?.serverUuid ?? "",
    sourceSet: executedOf(state),
    tenure: state.file?.openEpoch ?? 0,
  };
}

test("a write that waits is released when its only receiver comes back, without a rebuild", async () => {
  triple.nextEpoch();
  for (const name of ["s1b", "s1c"]) await triple.done(name, "revoke", { mode: "graceful" });
  const { outcome, connection } = await startWrite("s1a", 1);
  await triple.until("s1a", ({ mysql: m, beat }) => (m?.waitSessions ?? 0) > 0 && beat?.hangs === true);
  const { tenure } = await sourceArgs("s1a");
  await triple.follow("s1b", await triple.observe("s1a"), tenure);
  assert.equal(await outcome, "acknowledged");
  connection.destroy();
  await triple.follow("s1c", await triple.observe("s1a"), tenure);
});

test("a commit that waits is never acknowledged by closing: the graceful way gives up, and the source stays as it was", async () => {
  triple.nextEpoch();
  for (const name of ["s1b", "s1c"]) await triple.done(name, "revoke", { mode: "graceful" });
  const { outcome, connection } = await startWrite("s1a", 2);
  await triple.until("s1a", ({ mysql: m }) => (m?.waitSessions ?? 0) > 0);
  assert.match(await triple.refused("s1a", "revoke", { mode: "graceful" }), /^STILL_OPEN/);
  const after_ = await triple.observe("s1a");
  assert.equal(after_.role, "open");
  assert.equal(after_.mysql?.noTx, 0);
  assert.equal(after_.mysql?.noTimes, 0);
  assert.deepEqual(after_.alarms, []);
  await triple.untilGet("s1a", "/writer", 200);

  const { state } = await triple.done("s1a", "revoke", { mode: "kill" });
  assert.equal(await outcome, "lost", "the client is told nothing, not OK");
  connection.destroy();
  assert.equal(state.role, "closed");
  assert.deepEqual((await rows("s1a")).includes(2), true, "the kill has committed it: now it can be seen");
});

test("the old source's unacknowledged tail keeps it from following; it is archived and the server is cloned", async () => {
  const former = await triple.observe("s1a");
  await triple.done("s1b", "apply", {});
  const { state } = await triple.done("s1b", "prepare", { followers: ["s1c", "s1a"] });
  await triple.follow("s1c", state);
  await triple.done("s1b", "open", {});
  const source = await sourceArgs("s1b");
  assert.match(await triple.refused("s1a", "follow", { source: "s1b", ...source }), /^REFUSED: errant/);

  triple.nextEpoch();
  await triple.done("s1a", "revoke", { mode: "graceful" });
  const { sourceSet } = await sourceArgs("s1b");
  const rebuilt = await triple.done("s1a", "rebuild-from", { donor: "s1c", source: "s1b", sourceSet });
  const archived = readFileSync(rebuilt.archivedTail ?? "", "utf8");
  assert.match(archived, /### INSERT INTO `stripe_0001_p1`.`proof`\n### SET\n### {3}@1=2/);
  assert.notEqual(rebuilt.state.mysql?.serverUuid, former.mysql?.serverUuid);
  assert.notEqual(rebuilt.state.file?.dataId, former.file?.dataId);
  assert.equal(rebuilt.state.data, "VALID");
  assert.equal(rebuilt.state.file?.openEpoch, 0);
  assert.equal(rebuilt.state.role, "closed");
  assert.equal(rebuilt.state.mysql?.receiver, null, "the donor's channel is gone");
  assert.deepEqual(await rows("s1a"), [1]);
  await triple.follow("s1a", await triple.observe("s1b"));
  const { outcome, connection } = await startWrite("s1b", 3);
  assert.equal(await outcome, "acknowledged");
  connection.destroy();
});

test("an open source whose semi-sync was tampered with is reported within a second or two", async () => {
  await triple.query("s1b", "root", "SET GLOBAL rpl_semi_sync_source_wait_no_replica = OFF");
  const { alarms } = await triple.until("s1b", (state) => state.alarms.length > 0, 2_000);
  assert.deepEqual(alarms, ["rpl_semi_sync_source_wait_no_replica is OFF"]);
  await triple.query("s1b", "root", "SET GLOBAL rpl_semi_sync_source_wait_no_replica = ON");
  await triple.until("s1b", (state) => state.alarms.length === 0, 2_000);
});

test("data that is being replaced is void until the clone is verified, whatever dies meanwhile", async () => {
  triple.nextEpoch();
  await triple.done("s1b", "cut", { replica: "s1c" });
  await triple.done("s1c", "revoke", { mode: "graceful" });
  const { client } = triple.server("s1c");
  const source = await sourceArgs("s1b");
  const args = { donor: "s1b", source: "s1b", sourceSet: source.sourceSet };
  await client.fault({ command: "rebuild-from", place: "before-sql", mode: "crash" }, 5_000);
  await assert.rejects(client.command("rebuild-from", triple.epoch, args, 20_000));
  await triple.killAgent("s1c");
  await triple.startAgent("s1c");
  assert.equal((await triple.observe("s1c")).data, "VOID");
  assert.match(await triple.refused("s1c", "follow", { source: "s1b", ...source }), /^VOID/);
  assert.match(await triple.refused("s1c", "revoke", { mode: "kill" }), /^VOID/);
  assert.match(await triple.refused("s1c", "initialise", {}), /^REFUSED: there is data here/);
  const again = await triple.done("s1c", "rebuild-from", args);
  assert.equal(again.state.data, "VALID");
  await triple.done("s1b", "admit", { replica: "s1c" });
  await triple.follow("s1c", await triple.observe("s1b"));
});

test("a data directory that is not the one of the agent's file is void", async () => {
  triple.nextEpoch();
  await triple.done("s1c", "revoke", { mode: "graceful" });
  rmSync(join(triple.server("s1c").config.dataDir, "storage-agent-data-id"));
  const source = await sourceArgs("s1b");
  assert.match(await triple.refused("s1c", "follow", { source: "s1b", ...source }), /^VOID/);
});

test("a lost disk: the server starts on a pristine directory, counts as void, and is cloned", async () => {
  await triple.killAgent("s1c");
  process.kill(triple.mysqldPid("s1c"), "SIGKILL");
  rmSync(triple.server("s1c").config.dataDir, { recursive: true });
  await triple.startAgent("s1c");
  const blank = await triple.until("s1c", ({ role }) => role === "closed");
  assert.equal(blank.data, "VOID");
  assert.equal(blank.pristine, false, "it has had data once");
  assert.match(await triple.refused("s1c", "initialise", {}), /^REFUSED: this server has had data/);
  const { sourceSet } = await sourceArgs("s1b");
  const { state } = await triple.done("s1c", "rebuild-from", { donor: "s1a", source: "s1b", sourceSet });
  assert.equal(state.data, "VALID");
  assert.deepEqual(await rows("s1c"), [1, 3]);
});

test("a data directory whose filling was broken off is filled anew, whatever lies in it", async () => {
  const { dataDir } = triple.server("s1c").config;
  await triple.killAgent("s1c");
  process.kill(triple.mysqldPid("s1c"), "SIGKILL");
  rmSync(join(dataDir, "mysql.ibd"));
  writeFileSync(join(dataDir, PRISTINE_WANTED), "");
  await triple.startAgent("s1c");
  const { data } = await triple.until("s1c", ({ role }) => role === "closed");
  assert.equal(data, "VOID");
  assert.equal(existsSync(join(dataDir, PRISTINE_WANTED)), false);
  const { sourceSet } = await sourceArgs("s1b");
  await triple.done("s1c", "rebuild-from", { donor: "s1a", source: "s1b", sourceSet });
  assert.deepEqual(await rows("s1c"), [1, 3]);
});

test("data written with relaxed flushing is void after another boot of the machine, and valid after the same", async () => {
  const { stateFile } = triple.server("s1a").config;
  await triple.killAgent("s1a");
  await triple.startAgent("s1a");
  assert.equal((await triple.observe("s1a")).data, "VALID");
  await triple.killAgent("s1a");
  const file = JSON.parse(readFileSync(stateFile, "utf8")) as AgentFile;
  assert.notEqual(file.relaxedBootId, null);
  writeFileSync(stateFile, JSON.stringify({ ...file, relaxedBootId: "another-boot" }));
  await triple.startAgent("s1a");
  assert.equal((await triple.observe("s1a")).data, "VOID");
});

test("a lost or damaged file means void, and the epoch of nobody is assumed", async () => {
  await triple.killAgent("s1a");
  writeFileSync(triple.server("s1a").config.stateFile, "{");
  await triple.startAgent("s1a");
  const state = await triple.until("s1a", ({ role }) => role !== "down");
  assert.equal(state.data, "VOID");
  assert.equal(state.file, null);
  assert.equal(state.pristine, false);
  assert.match(await triple.refused("s1a", "revoke", { mode: "kill" }, triple.nextEpoch()), /^VOID/);
});

test("an agent without a file carries out a rebuild only when it names the agent's present run, however new its epoch", async () => {
  const { agentRunId: earlier } = await triple.observe("s1a");
  await triple.killAgent("s1a");
  await triple.startAgent("s1a");
  await triple.until("s1a", ({ role }) => role !== "down");
  const { sourceSet } = await sourceArgs("s1b");
  const args = { donor: "s1c", source: "s1b", sourceSet };
  const { client } = triple.server("s1a");
  for (const run of [undefined, earlier]) {
    const reply = await client.command("rebuild-from", triple.epoch, args, 10_000, run);
    assert.ok(!reply.ok && reply.code === "VOID", JSON.stringify(reply));
    assert.equal((await triple.observe("s1a")).file, null);
  }
  assert.equal((await triple.done("s1a", "rebuild-from", args)).state.data, "VALID");
});

test("a setting that a hand has made unsafe on a running server is set right before the next command", async () => {
  await triple.query(
    "s1c",
    "root",
    "SET GLOBAL sync_relay_log = 10000, GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT",
  );
  await triple.killAgent("s1c");
  await triple.startAgent("s1c");
  await triple.done("s1c", "revoke", { mode: "graceful" }, triple.nextEpoch());
  const [row] = await triple.query(
    "s1c",
    "root",
    "SELECT @@sync_relay_log AS synced, @@rpl_semi_sync_source_wait_point AS waits",
  );
  assert.deepEqual({ ...row }, { synced: 1, waits: "AFTER_SYNC" });
});

test("a server that was started with settings that lose acknowledged writes is refused everything but being stopped", async () => {
  triple.nextEpoch();
  await triple.done("s1c", "revoke", { mode: "graceful" });
  const { tenure } = await sourceArgs("s1b");
  await triple.done("s1b", "admit", { replica: "s1c" });
  await triple.follow("s1c", await triple.observe("s1b"), tenure);
  const { config } = triple.server("s1c");
  const { supervise } = config;
  assert.ok(supervise);
  const option = triple.folder.path("one-more-option");
  writeFileSync(option, "--relay-log-recovery=ON");
  // The last of several wins, as of an option file.
  supervise.command = ["bash", "-c", `exec "$@" "$(cat ${option})"`, "mysqld", ...supervise.command];
  await triple.killAgent("s1c");
  process.kill(triple.mysqldPid("s1c"), "SIGKILL");
  await triple.startAgent("s1c");
  await triple.until("s1c", ({ role }) => role === "closed");
  await triple.query("s1c", "root", "START REPLICA IO_THREAD");
  const epoch = triple.nextEpoch();
  assert.match(await triple.refused("s1c", "revoke", { mode: "graceful" }, epoch), /^MISCONFIGURED: relay_log/);
  const stopped = await triple.observe("s1c");
  assert.equal(stopped.mysql?.receiver?.io, "No", "its reply does not count, but it acknowledges nothing any more");
  assert.equal(stopped.file?.epoch, epoch);
  assert.match(await triple.refused("s1c", "restart", {}, epoch), /^MISCONFIGURED: relay_log/);
  assert.deepEqual((await triple.observe("s1c")).alarms, ["relay_log_recovery is 1, must be OFF"]);
  // The option is put right where mysqld is started; the agent lives on.
  writeFileSync(option, "--relay-log-recovery=OFF");
  const wrong = triple.mysqldPid("s1c");
  process.kill(wrong, "SIGKILL");
  await triple.until("s1c", ({ role, process: { pid }, alarms }) => {
    return role === "closed" && pid !== wrong && alarms.length === 0;
  });
  await triple.done("s1c", "revoke", { mode: "graceful" }, epoch);
});
