// What an earlier launcher of the same folder left running because it was killed. Only processes that are surely this
// folder's are ended: recorded in a pid file with their start time, or with a data directory or config file of this
// folder on their command line.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { ClusterFolder } from "../folder.ts";
import { readLivingPid, removePidFile } from "./pid-file.ts";
import { findProcess, listProcesses } from "./process-list.ts";

const TERM_GRACE_MS = 15_000;
const KILL_GRACE_MS = 5_000;
const POLL_MS = 50;

/**
 * Ends every process of this folder that still runs.
 * @returns how many there were
 * @throws Error when one cannot be ended
 */
export async function endLeftovers(folder: ClusterFolder): Promise<number> {
  const recorded = await recordedProcesses(folder);
  // Supervisors first, and by force: they would only start again what is ended next.
  await endAll(recorded, "SIGKILL");
  const servers = await processesByCommand(folder);
  await endAll(servers, "SIGTERM");
  return new Set([...recorded, ...servers]).size;
}

async function recordedProcesses(folder: ClusterFolder): Promise<number[]> {
  const run = folder.path("run");
  const files = (await readdir(run).catch(() => [])).filter(
    (name) => name.endsWith(".pid") && !name.startsWith("mysqld-"),
  );
  const pids = await Promise.all(files.map((name) => readLivingPid(join(run, name))));
  await Promise.all(files.map((name) => removePidFile(join(run, name))));
  return pids.filter((pid) => pid !== undefined);
}

/** MySQL servers and HAProxies name their files on the command line. */
async function processesByCommand(folder: ClusterFolder): Promise<number[]> {
  const marks = [`--datadir=${folder.path("mysql")}/`, `-f ${folder.path("haproxy")}/`];
  const mine = (await listProcesses()).filter((info) => marks.some((mark) => info.command.includes(mark)));
  return mine.map((info) => info.pid).filter((pid) => pid !== process.pid);
}

async function endAll(pids: readonly number[], first: "SIGTERM" | "SIGKILL"): Promise<void> {
  for (const pid of pids) signal(pid, first);
  const left = await stillRunning(pids, TERM_GRACE_MS);
  for (const pid of left) signal(pid, "SIGKILL");
  const stuck = await stillRunning(left, KILL_GRACE_MS);
  if (stuck.length > 0) throw new Error(`processes of an earlier run cannot be ended: ${stuck.join(", ")}`);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // gone already
  }
}

async function stillRunning(pids: readonly number[], withinMs: number): Promise<number[]> {
  const deadline = new Deadline(withinMs);
  for (;;) {
    const infos = await Promise.all(pids.map(findProcess));
    const left = infos.flatMap((info) => (info === undefined ? [] : [info.pid]));
    if (left.length === 0 || deadline.passed) return left;
    await sleep(POLL_MS);
  }
}
