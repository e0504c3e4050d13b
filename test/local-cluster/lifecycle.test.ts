import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startCluster } from "../../local-cluster/cluster.ts";
import type { ClusterInfo } from "../../local-cluster/cluster-info.ts";
import { listProcesses } from "../../local-cluster/supervision/process-list.ts";
import { connect } from "../../runtime/mysql.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const MAIN = fileURLToPath(new URL("../../local-cluster/main.ts", import.meta.url));
const START_MAX_MS = 60_000;
const STOP_MAX_MS = 45_000;
const HEAL_MAX_MS = 30_000;
const POLL_MS = 50;

let parent = "";
let dir = "";
const launchers: Launcher[] = [];

before(async () => {
  parent = await mkdtemp(join(tmpdir(), "lifecycle-"));
  dir = join(parent, "cluster");
  await mkdir(dir);
});
after(async () => {
  for (const launcher of launchers) await launcher.stop();
  await rm(parent, { recursive: true, force: true });
});

/** `npm start` as a test sees it. */
class Launcher {
  readonly child: ChildProcess;
  readonly #exited: Promise<unknown>;
  output = "";

  constructor(...options: string[]) {
    const size = ["--stripes", "1", "--port", "0", "--ops-port", "0"];
    this.child = spawn(process.execPath, [MAIN, ...size, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = once(this.child, "exit");
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    launchers.push(this);
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async ready(): Promise<ClusterInfo> {
    await until("the cluster is up", START_MAX_MS, () => {
      if (this.ended) throw new Error(`the launcher ended:\n${this.output}`);
      return this.output.includes("Ctrl-C stops everything");
    });
    return info();
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.ended) return;
    this.child.kill(signal);
    const force = setTimeout(() => this.child.kill("SIGKILL"), STOP_MAX_MS);
    await this.#exited;
    clearTimeout(force);
  }
}

async function info(): Promise<ClusterInfo> {
  return JSON.parse(await readFile(join(dir, "cluster.json"), "utf8")) as ClusterInfo;
}

async function until(what: string, withinMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = monotonicMs() + withinMs;
  while (!(await holds())) {
    if (monotonicMs() > limit) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}

function pidsOf(cluster: ClusterInfo): number[] {
  const pids = [
    ...cluster.proxies.map(({ pid }) => pid),
    cluster.ops.pid,
    cluster.control.pid,
    cluster.agents.pid,
    ...cluster.stripes.flatMap((stripe) => [
      stripe.haproxy.pid,
      ...stripe.services.map(({ pid }) => pid),
      ...stripe.mysql.map(({ pid }) => pid),
    ]),
  ];
  return pids.filter((pid) => pid !== null);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function assertNothingLeft(pids: readonly number[], folder: string): Promise<void> {
  assert.deepEqual(pids.filter(alive), [], "processes that outlived the stop");
  const naming = (await listProcesses()).filter(({ command }) => command.includes(folder));
  assert.deepEqual(naming, [], "processes that name the folder");
}

async function createOrder(proxy: string, outTradeNo: string): Promise<string> {
  const order = { mchid: "shop1", out_trade_no: outTradeNo, description: "tea", amount: { total: 5, currency: "CNY" } };
  const response = await fetch(`${proxy}/v1/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(order),
    signal: AbortSignal.timeout(10_000),
  });
  const body = (await response.json()) as { transaction_id: string };
  assert.ok([200, 201].includes(response.status), JSON.stringify(body));
  return body.transaction_id;
}

async function orderStatus(proxy: string, id: string): Promise<number> {
  try {
    const response = await fetch(`${proxy}/v1/orders/${id}`, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

let firstOrder = "";

test("a first start serves orders and a SIGTERM leaves no process and no cluster.json", async () => {
  const launcher = new Launcher("--dir", dir);
  const cluster = await launcher.ready();
  const pids = pidsOf(cluster);
  assert.equal(pids.length, 9, "a proxy, ops, control, agents, HAProxy, a service and three MySQL servers");
  assert.ok(pids.every(alive));
  assert.deepEqual(cluster.stripes[0]?.mysql.map(({ role }) => role).toSorted(), ["replica", "replica", "source"]);
  firstOrder = await createOrder(cluster.proxies[0]?.url ?? "", "first");
  await launcher.stop();
  assert.equal(launcher.child.exitCode, 0, launcher.output);
  await assertNothingLeft(pids, dir);
  assert.ok(!(await readdir(dir)).includes("cluster.json"));
});

test("a second start finds the data again; a second launcher on the same folder is refused", async () => {
  const cluster = await new Launcher("--dir", dir).ready();
  assert.equal(await orderStatus(cluster.proxies[0]?.url ?? "", firstOrder), 200);
  const second = new Launcher("--dir", dir);
  await until("the second launcher ends", START_MAX_MS, () => second.ended);
  assert.equal(second.child.exitCode, 1);
  assert.match(second.output, /is running in .* already/);
  assert.deepEqual(pidsOf(await info()), pidsOf(cluster), "and touches nothing");
  assert.ok(pidsOf(cluster).every(alive));
});

test("the account in cluster.json may look into every database and change none", async () => {
  const { user, password, control, stripes } = await info();
  const ports = [control.port, ...(stripes[0]?.mysql.map(({ port }) => port) ?? [])];
  for (const port of ports) {
    const connection = await connect({ host: "127.0.0.1", port, user, password }, 5_000);
    const [rows] = await connection.query("SELECT COUNT(*) AS n FROM information_schema.tables");
    assert.ok((rows as { n: number }[])[0]?.n);
    const schema = port === control.port ? "control" : "stripe_0001_p1";
    await assert.rejects(connection.query(`CREATE TABLE ${schema}.scribble (a INT)`), /denied|read-only/);
    await connection.end();
  }
});

test("a process that is killed is started again, and cluster.json tells its new pid", async () => {
  const before_ = await info();
  const pidOf: Record<string, (cluster: ClusterInfo) => number | null | undefined> = {
    proxy: (cluster) => cluster.proxies[0]?.pid,
    service: (cluster) => cluster.stripes[0]?.services[0]?.pid,
    haproxy: (cluster) => cluster.stripes[0]?.haproxy.pid,
    ops: (cluster) => cluster.ops.pid,
    agents: (cluster) => cluster.agents.pid,
    control: (cluster) => cluster.control.pid,
  };
  for (const find of Object.values(pidOf)) process.kill(find(before_) ?? 0, "SIGKILL");
  for (const [name, find] of Object.entries(pidOf)) {
    await until(`${name} has a new pid`, HEAL_MAX_MS, async () => {
      const now = find(await info());
      return typeof now === "number" && now !== find(before_);
    });
  }
  const url = before_.proxies[0]?.url ?? "";
  await until("orders are readable again", HEAL_MAX_MS, async () => (await orderStatus(url, firstOrder)) === 200);
});

test("a source that is killed comes back open, with its replicas, and cluster.json follows", async () => {
  const source = (cluster: ClusterInfo) => cluster.stripes[0]?.mysql.find(({ role }) => role === "source");
  await until("there is a source", HEAL_MAX_MS, async () => source(await info()) !== undefined);
  const before_ = await info();
  process.kill(source(before_)?.pid ?? 0, "SIGKILL");
  await until("its death is told", HEAL_MAX_MS, async () => source(await info())?.pid !== source(before_)?.pid);
  await until("all roles are right again", HEAL_MAX_MS, async () => {
    const roles = (await info()).stripes[0]?.mysql.map(({ role }) => role).toSorted();
    return roles?.join() === "replica,replica,source";
  });
  const url = before_.proxies[0]?.url ?? "";
  await until("orders are readable again", HEAL_MAX_MS, async () => (await orderStatus(url, firstOrder)) === 200);
});

test("an ephemeral cluster runs beside another one and removes its data", async () => {
  const first = await info();
  const cluster = await startCluster({ parts: "storage", ephemeral: true, stripes: 1 });
  const second = cluster.info();
  const ports = (c: ClusterInfo) => [
    c.control.port,
    ...c.stripes.flatMap(({ mysql }) => mysql.map(({ port }) => port)),
  ];
  assert.deepEqual(
    ports(second).filter((port) => ports(first).includes(port)),
    [],
  );
  await cluster[Symbol.asyncDispose]();
  await assertNothingLeft(pidsOf(second), cluster.dir);
  await assert.rejects(readdir(cluster.dir), /ENOENT/);
  assert.ok(pidsOf(first).length > 0 && alive(first.launcherPid), "the other cluster goes on");
});

test("after a kill -9 of the launcher a new start ends what it left and serves the same data", async () => {
  const left = await info();
  process.kill(left.launcherPid, "SIGKILL");
  await until("the launcher is gone", STOP_MAX_MS, () => !alive(left.launcherPid));
  const launcher = new Launcher("--dir", dir);
  const cluster = await launcher.ready();
  assert.match(launcher.output, /ended \d+ processes that an earlier run had left/);
  assert.deepEqual(pidsOf(left).filter(alive), []);
  assert.equal(await orderStatus(cluster.proxies[0]?.url ?? "", firstOrder), 200);
  await launcher.stop("SIGINT");
  await assertNothingLeft(pidsOf(cluster), dir);
});

test("a SIGTERM in the middle of a start leaves nothing", async () => {
  const launcher = new Launcher("--dir", dir);
  await until("the servers are being started", START_MAX_MS, () =>
    launcher.output.includes("starting the control database"),
  );
  await launcher.stop();
  assert.equal(launcher.child.exitCode, 1);
  await assertNothingLeft([], dir);
});
