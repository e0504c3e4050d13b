// What a disk does to a triple: a torn relay log, and no room left under the source.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { FailoverTriple } from "../support/failover-triple.ts";
import { assertIntact, loaded, switchOver, untilAcked } from "../support/failover-scenarios.ts";
import { withLinkedTriple } from "../support/linked-triple.ts";

/** More than a data directory needs, and soon full. */
const SMALL_DISK = "size=600m";
/** Less than one transaction: the last one's end is missing. */
const TORN_BYTES = 37;

let triple: FailoverTriple;
const mounts: string[] = [];
// Before the triple's own folder goes away, with which a mount would stay behind.
after(() => {
  for (const path of mounts) execFileSync("umount", ["--lazy", path]);
});
withLinkedTriple((started) => {
  ({ triple } = started);
});

test("a relay log that a crash has torn: its replica is whole again by itself, and nothing is lost", async () => {
  const [replica] = await triple.replicas();
  const { dataDir } = triple.agents.server(replica).config;
  const load = await loaded(triple);
  await triple.takeDown(replica);
  const logs = readdirSync(dataDir).filter((name) => /^relay-bin\.\d+$/.test(name));
  const last = logs.sort().findLast((name) => statSync(join(dataDir, name)).size > 10 * TORN_BYTES);
  assert.ok(last, logs.join());
  const path = join(dataDir, last);
  truncateSync(path, statSync(path).size - TORN_BYTES);
  await untilAcked(triple, load);
  await triple.bringUp(replica);
  await assertIntact(triple, load);
});

test("the source's disk is full: another one leads, and it is a replica again once there is room", async (t) => {
  const [small] = await triple.replicas();
  const { dataDir } = triple.agents.server(small).config;
  await triple.takeDown(small);
  const aside = await mkdtemp(join(tmpdir(), "full-disk-"));
  await cp(dataDir, aside, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", SMALL_DISK, "none", dataDir], { stdio: "pipe" });
  } catch (error) {
    await rm(aside, { recursive: true });
    return t.skip(`no small disk can be mounted here: ${(error as Error).message.split("\n")[0]}`);
  }
  mounts.push(dataDir);
  await cp(aside, dataDir, { recursive: true });
  await rm(aside, { recursive: true });
  await triple.bringUp(small);
  await triple.untilWhole();
  assert.equal((await switchOver(triple, small)).state, "DONE");
  await triple.untilWhole();

  const load = await loaded(triple);
  const filler = join(dataDir, "filler");
  assert.throws(
    () => execFileSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M"], { stdio: "pipe" }),
    /No space left/,
  );
  await triple.until("another one leads", async () => (await triple.source()) !== small, 90_000);
  await untilAcked(triple, load);
  rmSync(filler);
  await assertIntact(triple, load);
});
