// One default cluster for all test files that only need "a cluster that takes orders". The first file that asks starts
// it, `npm test` ends it; a single file run by hand has a cluster of its own, which
// is told to end when the file has ended (its folder in the temporary directory stays, for a look at the logs).
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const LAUNCHER = fileURLToPath(new URL("../../local-cluster/main.ts", import.meta.url));
const READY_MAX_MS = 180_000;
const STOP_MAX_MS = 60_000;
const POLL_MS = 100;

/** The part of cluster.json that tests use. */
export interface ClusterFile {
  readonly proxies: readonly { url: string; pid: number }[];
  readonly ops: { url: string; pid: number };
  readonly control: { host: string; port: number; pid: number };
  readonly stripes: readonly {
    stripe: number;
    services: readonly { url: string; pid: number }[];
    haproxy: { writerPort: number; readerPort: number; pid: number };
    mysql: readonly { name: string; role: string; port: number; adminPort: number; pid: number; dataDir: string }[];
  }[];
  readonly user: string;
  readonly password: string;
}

export interface SharedCluster {
  /** Base URL of the first proxy. */
  readonly url: string;
  readonly opsUrl: string;
  /** cluster.json as it is now (roles and pids change). */
  file(): ClusterFile;
}

function launcherPidFile(dir: string): string {
  return join(dir, "launcher.pid");
}

function clusterFile(dir: string): string {
  return join(dir, "data", "cluster.json");
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function startIn(dir: string): Promise<void> {
  const log = openSync(join(dir, "launcher.log"), "a");
  const args = [
    LAUNCHER,
    "--dir",
    join(dir, "data"),
    "--port",
    "0",
    "--ops-port",
    "0",
    "--proxies",
    "2",
    "--services",
    "2",
  ];
  const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", log, log] });
  child.unref();
  const pid = child.pid ?? 0;
  writeFileSync(launcherPidFile(dir), String(pid));
  const limit = monotonicMs() + READY_MAX_MS;
  while (!existsSync(clusterFile(dir))) {
    if (!alive(pid) || monotonicMs() > limit) {
      throw new Error(`the cluster did not start:\n${readFileSync(join(dir, "launcher.log"), "utf8").slice(-4000)}`);
    }
    await sleep(POLL_MS);
  }
}

/** Ends the cluster in `dir`, if one runs there, by asking its launcher. */
export async function stopSharedCluster(dir: string): Promise<void> {
  if (!existsSync(launcherPidFile(dir))) return;
  const pid = Number(readFileSync(launcherPidFile(dir), "utf8"));
  if (alive(pid)) process.kill(pid, "SIGTERM");
  const limit = monotonicMs() + STOP_MAX_MS;
  while (alive(pid) && monotonicMs() < limit) await sleep(POLL_MS);
  rmSync(launcherPidFile(dir), { force: true });
}

/** The running cluster, started when nobody has yet. Call it in a `before` hook. */
export async function sharedCluster(): Promise<SharedCluster> {
  const shared = process.env.TEST_CLUSTER_DIR;
  const dir = shared ?? mkdtempSync(join(tmpdir(), "striped-orders-test-"));
  if (shared === undefined) {
    process.once("exit", () => {
      const pid = Number(readFileSync(launcherPidFile(dir), "utf8"));
      if (alive(pid)) process.kill(pid, "SIGTERM");
    });
  }
  if (!existsSync(clusterFile(dir))) await startIn(dir);
  const file = (): ClusterFile => JSON.parse(readFileSync(clusterFile(dir), "utf8")) as ClusterFile;
  const { proxies, ops } = file();
  return { url: proxies[0]?.url ?? "", opsUrl: ops.url, file };
}
