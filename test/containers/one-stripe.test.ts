// One stripe on a triple, from images: the order contract, a failover, and the ways back of a server that was away.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Deadline, sleep } from "../../runtime/clock.ts";
import { type OrdersApi as Api, OrdersApi } from "../support/orders-api.ts";
import { ComposeCluster, containersAreMissing, docker, outputOf, ROOT, untilCreated } from "./support/engine.ts";

/** Contract tests that need nothing but HTTP. */
const CONTRACT = ["create", "reads", "money-and-states", "races"].map((name) => join("test/orders", `${name}.test.ts`));
const PORT = 18_180;
const LEFT_OUT = [2, 3].flatMap((stripe) => ["", "_SERVICES", "_HAPROXIES"].map((kind) => `STRIPE_${stripe}${kind}`));
const ONE_STRIPE = { STRIPES: "1", ...Object.fromEntries(LEFT_OUT.map((name) => [name, "0"])) };
const WHOLE_MAX_MS = 90_000;
const POLL_MS = 200;

const skip = await containersAreMissing();

describe("one stripe in containers", { skip, timeout: 540_000 }, () => {
  let cluster: ComposeCluster;
  let api: Api;
  before(async () => {
    cluster = await ComposeCluster.start("striped-orders-one", PORT, ONE_STRIPE);
    api = new OrdersApi(cluster.url);
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  test("the order contract holds", async () => {
    const { code, output } = await runContract(cluster);
    assert.equal(code, 0, output);
  });

  test("a killed source is replaced, and every acknowledged order and payment is there", async () => {
    const { source } = await cluster.triple(1);
    const paid = await Promise.all(Array.from({ length: 20 }, () => api.paidOrder()));
    await docker(["kill", cluster.container(source)]);
    const order = await untilCreated(api);
    assert.notEqual((await cluster.triple(1)).source, source);
    for (const { transaction_id: id } of paid) assert.equal((await api.order(id)).body.trade_state, "SUCCESS");
    assert.equal((await api.pay(order)).status, 200);
    await docker(["start", cluster.container(source)]);
    await untilWhole(cluster);
  });

  test("a killed service, HAProxy, proxy and health checker are survived, and so is a source that dies then", async () => {
    const killed = ["s1-service", "s1-haproxy", "proxy-1", "checker-1"].map((name) => cluster.container(name));
    await docker(["kill", ...killed]);
    for (let i = 0; i < 10; i++) assert.equal((await api.pay(await untilCreated(api))).status, 200);
    const { source } = await cluster.triple(1);
    await docker(["kill", cluster.container(source)]);
    assert.equal((await api.pay(await untilCreated(api))).status, 200);
    await docker(["start", cluster.container(source), ...killed]);
    await untilWhole(cluster);
  });

  test("a source whose mysqld ends by itself is started again by the engine, closed, and rejoins", async () => {
    const { source } = await cluster.triple(1);
    await docker(["exec", cluster.container(source), "bash", "-c", "kill -TERM 1"]);
    await untilCreated(api);
    await untilWhole(cluster);
  });

  test("a server that has lost its disk is made anew by CLONE and has a name of its own", async () => {
    const lost = await aReplica(cluster);
    const before_ = await uuidOf(cluster, lost);
    await cluster.compose(["rm", "--stop", "--force", lost, `${lost}-agent`]);
    await docker(["volume", "rm", `${cluster.project}_${lost}-data`]);
    await cluster.up();
    await untilWhole(cluster);
    assert.notEqual(await uuidOf(cluster, lost), before_);
    const { recoveries } = await cluster.triple(1);
    assert.ok(
      recoveries.some(({ kind, victim, outcome }) => kind === "REBUILD" && victim === lost && outcome === "DONE"),
    );
  });

  test("an errant transaction is kept as log files before its server is cloned", async () => {
    const errant = await aReplica(cluster);
    const before_ = await uuidOf(cluster, errant);
    await sql(cluster, errant, [
      "SET GLOBAL super_read_only = OFF",
      "CREATE USER errant@localhost ACCOUNT LOCK",
      "SET GLOBAL super_read_only = ON",
    ]);
    const deadline = new Deadline(WHOLE_MAX_MS);
    while ((await uuidOf(cluster, errant).catch(() => before_)) === before_) {
      assert.ok(!deadline.passed, "not cloned in time");
      await sleep(POLL_MS);
    }
    await untilWhole(cluster);
    const print =
      'cd /agent/archive/* && cat gtids.txt && mysqlbinlog --no-defaults --include-gtids="$(cat gtids.txt)" binlog.*';
    const volume = `${cluster.project}_${errant}-agent:/agent:ro`;
    const kept = await docker(["run", "--rm", "-v", volume, "--entrypoint", "bash", "mysql:9.7", "-c", print]);
    assert.match(kept, new RegExp(`^${before_}:`));
    assert.match(kept, /CREATE USER 'errant'@'localhost'/);
  });
});

/** Runs tests of the suite against this cluster, as a suite of their own. */
async function runContract({
  url,
  opsUrl,
}: ComposeCluster): Promise<{ readonly code: number; readonly output: string }> {
  const dir = await mkdtemp(join(tmpdir(), "contract-"));
  try {
    await mkdir(join(dir, "data"));
    const file = { proxies: [{ url, pid: 0 }], ops: { url: opsUrl, pid: 0 }, stripes: [] };
    await writeFile(join(dir, "data", "cluster.json"), JSON.stringify(file));
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const child = spawn(process.execPath, ["--test", "--test-concurrency=1", ...CONTRACT], {
      cwd: ROOT,
      env: { ...env, TEST_CLUSTER_DIR: dir },
    });
    return await outputOf(child);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Both replicas acknowledge again. */
async function untilWhole(cluster: ComposeCluster): Promise<void> {
  const deadline = new Deadline(WHOLE_MAX_MS);
  for (;;) {
    const { source, ack_set: ackSet } = await cluster.triple(1);
    const roles = await Promise.all(["a", "b", "c"].map((letter) => roleOf(cluster, `s1${letter}`)));
    const whole = roles.filter((role) => role === "follower").length === 2 && roles.includes("open");
    if (whole && ackSet.length === 2 && !ackSet.includes(source)) return;
    assert.ok(!deadline.passed, `not whole: source ${source}, ack_set ${ackSet.join()}, roles ${roles.join()}`);
    await sleep(POLL_MS);
  }
}

async function aReplica(cluster: ComposeCluster): Promise<string> {
  const { source } = await cluster.triple(1);
  return source === "s1c" ? "s1b" : "s1c";
}

interface Observed {
  readonly role: string;
  readonly mysql: { readonly serverUuid: string } | null;
}

async function observe(cluster: ComposeCluster, server: string): Promise<Observed> {
  const ask = "fetch('http://127.0.0.1:8070/agent/v1/observe').then((r)=>r.text()).then((t)=>process.stdout.write(t))";
  return JSON.parse(await docker(["exec", cluster.container(`${server}-agent`), "node", "-e", ask])) as Observed;
}

async function roleOf(cluster: ComposeCluster, server: string): Promise<string> {
  return (await observe(cluster, server)).role;
}

async function uuidOf(cluster: ComposeCluster, server: string): Promise<string> {
  const { mysql } = await observe(cluster, server);
  if (mysql === null) throw new Error(`${server} does not answer`);
  return mysql.serverUuid;
}

/** Statements by the agent's own account, in one session. */
async function sql(cluster: ComposeCluster, server: string, statements: readonly string[]): Promise<void> {
  const config = await docker(["exec", cluster.container(`${server}-agent`), "cat", "/run/secrets/agents.json"]);
  const { agent } = (JSON.parse(config) as { servers: { accounts: { agent: { user: string; password: string } } }[] })
    .servers[0]!.accounts;
  const client = ["mysql", "--no-defaults", "--socket=/var/run/mysqld/mysqld.sock", `-u${agent.user}`];
  const env = ["--env", `MYSQL_PWD=${agent.password}`];
  await docker(["exec", ...env, cluster.container(server), ...client, "-e", statements.join("; ")]);
}
