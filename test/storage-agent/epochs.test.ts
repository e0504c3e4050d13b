import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import type { AgentFile } from "../../core/agent-wire.ts";
import { AgentTriple } from "../support/agent-triple.ts";
import mysql from "mysql2/promise";

let triple: AgentTriple;
before(async () => {
  triple = await AgentTriple.start();
});
after(() => triple[Symbol.asyncDispose]());

const fileOf = (name: string): AgentFile =>
  JSON.parse(readFileSync(triple.server(name).config.stateFile, "utf8")) as AgentFile;

/** Arms a crash, sends the command and waits until the agent is gone. */
async function crashAt(
  name: string,
  place: "after-fsync" | "before-sql" | "after-sql" | "before-reply",
  epoch: number,
) {
  const { client } = triple.server(name);
  await client.fault({ command: "revoke", place, mode: "crash" }, 5_000);
  await assert.rejects(client.command("revoke", epoch, { mode: "graceful" }, 20_000));
  await triple.killAgent(name);
}

test("a command of an older epoch is refused with the newest epoch that was heard", async () => {
  const epoch = triple.nextEpoch();
  await triple.done("s1a", "revoke", { mode: "graceful" }, epoch);
  await triple.done("s1a", "observe", {}, epoch + 1);
  assert.equal(fileOf("s1a").epoch, epoch, "observe changes nothing, nor the epoch");
  const reply = await triple.server("s1a").client.command("revoke", epoch - 1, { mode: "kill" }, 5_000);
  assert.equal(reply.ok, false);
  assert.equal(!reply.ok && reply.code, "STALE_EPOCH");
  assert.equal(!reply.ok && reply.fileEpoch, epoch);
});

test("the epoch is on disk before the first SQL, and a restarted agent still refuses older ones", async () => {
  const epoch = triple.nextEpoch();
  await crashAt("s1b", "after-fsync", epoch);
  assert.equal(fileOf("s1b").epoch, epoch);
  await triple.startAgent("s1b");
  assert.match(await triple.refused("s1b", "revoke", { mode: "graceful" }, epoch - 1), /^STALE_EPOCH/);
});

test("a repeated command of the same epoch is executed again", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  const epoch = triple.nextEpoch();
  await crashAt("s1b", "before-sql", epoch);
  await triple.startAgent("s1b");
  assert.equal((await triple.observe("s1b")).mysql?.receiver?.io, "Yes", "the crash came before STOP");
  const { state } = await triple.done("s1b", "revoke", { mode: "graceful" }, epoch);
  assert.equal(state.mysql?.receiver?.io, "No");
  assert.equal(state.role, "closed");
});

test("an agent that crashed after its SQL or before its reply leaves the server revoked", async () => {
  for (const place of ["after-sql", "before-reply"] as const) {
    await triple.reign("s1a", ["s1b", "s1c"]);
    await crashAt("s1c", place, triple.nextEpoch());
    await triple.startAgent("s1c");
    const state = await triple.until("s1c", ({ role }) => role !== "down");
    assert.equal(state.role, "closed");
    assert.equal(state.file?.epoch, triple.epoch);
  }
});

test("an agent that was killed finds its mysqld alive, in its role, and restores nothing that was revoked", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  const pid = triple.mysqldPid("s1a");
  await triple.killAgent("s1a");
  await triple.startAgent("s1a");
  const open = await triple.until("s1a", ({ role }) => role === "open");
  assert.equal(open.process.pid, pid);
  await triple.untilGet("s1a", "/writer", 200);
  await triple.done("s1a", "revoke", { mode: "graceful" }, triple.nextEpoch());
  await triple.killAgent("s1a");
  await triple.startAgent("s1a");
  assert.equal((await triple.until("s1a", ({ role }) => role !== "down")).role, "closed");
  assert.equal(await triple.get("s1a", "/writer"), 503);
});

test("a mysqld whose pid file is lost, or could not be written, is found by its command line and is not started twice", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  const pid = triple.mysqldPid("s1b");
  const { pidFile } = triple.server("s1b").config.supervise ?? assert.fail();
  await triple.killAgent("s1b");
  rmSync(pidFile);
  await triple.startAgent("s1b");
  const { process: found, role } = await triple.until("s1b", (state) => state.role !== "down");
  assert.deepEqual([found.pid, found.starts, role], [pid, 0, "follower"]);
  assert.equal(triple.mysqldPid("s1b"), pid, "the file is there again");

  // Nothing can be renamed onto a folder: the file of the next mysqld cannot be written.
  rmSync(pidFile);
  mkdirSync(pidFile);
  const { state } = await triple.done("s1b", "restart", {}, triple.nextEpoch());
  const next = state.process.pid ?? assert.fail();
  assert.notEqual(next, pid);
  assert.equal(state.role, "closed");
  const again = await triple.done("s1b", "restart", {});
  assert.notEqual(again.state.process.pid, next, "a mysqld without a file is killed as well");
  rmSync(pidFile, { recursive: true });
  await triple.killAgent("s1b");
  await triple.startAgent("s1b");
  assert.equal(triple.mysqldPid("s1b"), again.state.process.pid);
});

test("a session that a dead agent left behind is ended before the new agent's first SQL", async () => {
  const { host, port } = { host: "127.0.0.1", port: triple.server("s1b").config.mysql.adminPort };
  const left = await mysql.createConnection({ host, port, ...triple.server("s1b").config.accounts.agent });
  left.on("error", () => {});
  await triple.killAgent("s1b");
  await triple.startAgent("s1b");
  await triple.done("s1b", "observe", {});
  await assert.rejects(left.query("SELECT 1"), "the old session was killed");
  left.destroy();
});

test("SQL that waits in a stopped mysqld does not run after a revoke", async () => {
  await triple.reign("s1a", ["s1b", "s1c"]);
  await triple.done("s1b", "revoke", { mode: "graceful" }, triple.nextEpoch());
  const pid = triple.mysqldPid("s1b");
  const { adminHost: host, adminPort: port } = triple.server("s1b").config.mysql;
  const dead = await mysql.createConnection({ host, port, ...triple.server("s1b").config.accounts.agent });
  dead.on("error", () => {});
  process.kill(pid, "SIGSTOP");
  dead.query("START REPLICA IO_THREAD").catch(() => {});
  await new Promise((resolve) => setImmediate(resolve)); // the statement is in the socket
  dead.destroy();
  const { state } = await triple.done("s1b", "revoke", { mode: "graceful" }, triple.nextEpoch());
  assert.equal(state.role, "closed");
  assert.notEqual(state.process.pid, pid, "a mysqld that cannot be swept is killed");
  const later = await triple.done("s1b", "observe", {});
  assert.equal(later.state.mysql?.receiver?.io, "No");
});

test("one command at a time: a second one waits, and is told BUSY when its budget ends", async () => {
  const { client } = triple.server("s1c");
  const epoch = triple.nextEpoch();
  await client.fault({ command: "revoke", place: "before-sql", mode: "hold" }, 5_000);
  const held = triple.done("s1c", "revoke", { mode: "graceful" }, epoch);
  await triple.until("s1c", ({ busy }) => busy?.command === "revoke");
  assert.match(await triple.refused("s1c", "observe", {}, epoch, 400), /^BUSY/);
  const waiting = triple.done("s1c", "observe", {}, epoch);
  await client.fault({ command: "revoke", place: "before-sql", mode: "off" }, 5_000);
  assert.equal((await held).state.role, "closed");
  assert.equal((await waiting).state.busy, null);
});
