// The small cluster of the compose file: the demo with a killed source, its memory, a restart of everything, scaling.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { IMAGES } from "../../local-cluster/containers/spec.ts";
import { parseTransactionId } from "../../core/order-number.ts";
import { Deadline } from "../../runtime/clock.ts";
import { OrdersApi } from "../support/orders-api.ts";
import {
  BUILD_MAX_MS,
  ComposeCluster,
  containersAreMissing,
  docker,
  outputOf,
  ROOT,
  settingsOf,
  untilCreated,
} from "./support/engine.ts";

const PORT = 18_280;
const SMALL_BYTES_MAX = 3 * 1024 ** 3;
const MIB = 1024 ** 2;
const GROWN_MAX_MS = 120_000;
const DEMO = ["local-cluster/demo/main.ts", "--compose", "--orders=1500", "--merchants=100"];
const OLD_IMAGE = "striped-orders:before";

const skip = await containersAreMissing();

describe("the small cluster of the compose file", { skip, timeout: 900_000 }, () => {
  let cluster: ComposeCluster;
  before(async () => {
    cluster = await ComposeCluster.start(
      "striped-orders-small",
      PORT,
      settingsOf("local-cluster/containers/small.env"),
    );
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  test("takes orders at once when `up --wait` returns, and pays them", async () => {
    assert.equal((await new OrdersApi(cluster.url).paidOrder()).trade_state, "SUCCESS");
  });

  test("plays the demo with one source container killed halfway, and nothing acknowledged is lost", async () => {
    const { code, output } = await typed(cluster, process.execPath, ...DEMO);
    assert.equal(code, 0, output);
    assert.match(output, /killed the container of the source s\d[abc]/);
    assert.match(output, /acknowledged orders read back equal, and the money adds up/);
  });

  test("needs at most 3 GB", async (t) => {
    const lines = (await docker(["stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"])).split("\n");
    const own = lines.filter((line) => line.startsWith(`${cluster.project}-`));
    const bytes = own.map((line) => bytesOf(line.split(" ")[1] ?? "")).reduce((a, b) => a + b, 0);
    t.diagnostic(`${own.length} containers, ${Math.round(bytes / MIB)} MiB`);
    assert.ok(own.length > 15);
    assert.ok(bytes <= SMALL_BYTES_MAX, `${Math.round(bytes / MIB)} MiB`);
  });

  test("loses nothing by down and up, and a stripe service can be scaled meanwhile", async () => {
    const paid = await new OrdersApi(cluster.url).paidOrder();
    await cluster.compose(["down", "--timeout", "30"]);
    await cluster.up({ SERVICES: "2" });
    const found = await new OrdersApi(cluster.url).order(paid.transaction_id);
    assert.equal(found.body.trade_state, "SUCCESS");
    await docker(["kill", cluster.container("s1-service", 1)]);
    const api = new OrdersApi(cluster.url);
    for (let i = 0; i < 10; i++) assert.equal((await api.paidOrder()).trade_state, "SUCCESS");
    await cluster.up(); // one instance of each again, whichever the engine keeps
    await untilCreated(api);
  });

  test("loses nothing by a restart of everything at once", async () => {
    const api = new OrdersApi(cluster.url);
    const paid = await Promise.all(Array.from({ length: 10 }, () => api.paidOrder()));
    await cluster.compose(["restart", "--timeout", "30"]);
    await cluster.up();
    await untilCreated(api);
    for (const { transaction_id: id } of paid) {
      const { body } = await api.order(id);
      assert.equal(body.trade_state, "SUCCESS", JSON.stringify(body));
    }
    assert.equal((await api.paidOrder()).trade_state, "SUCCESS");
  });

  test("is upgraded to a new image of the project's own processes, and no database is started anew for it", async () => {
    const api = new OrdersApi(cluster.url);
    const paid = await api.paidOrder();
    const own = ["proxy-1", "s1-service", "checker-1", "s1a-agent", "ops"];
    const before_ = await imageOf(cluster, "proxy-1");
    const databases = (): Promise<string[]> =>
      Promise.all(["control", "s1a", "s1b", "s2c"].map((name) => startOf(cluster.container(name))));
    const started = await databases();
    await docker(["tag", IMAGES.own, OLD_IMAGE]);
    try {
      await docker(["build", "--quiet", "--tag", IMAGES.own, "--label", "newer=yes", "."], {}, BUILD_MAX_MS);
      const upgraded = await typed(cluster, "bash", "local-cluster/containers/upgrade.sh", "--built");
      assert.equal(upgraded.code, 0, upgraded.output);
      for (const name of own) assert.notEqual(await imageOf(cluster, name), before_, name);
      assert.deepEqual(await databases(), started);
      const next = await typed(cluster, "docker", "compose", "--dry-run", "up", "--detach");
      assert.equal(next.code, 0, next.output);
      assert.doesNotMatch(next.output, /Recreate/, "everything is as `up` would have it");
      assert.equal((await api.order(paid.transaction_id)).body.trade_state, "SUCCESS");
      assert.equal((await api.paidOrder()).trade_state, "SUCCESS");
    } finally {
      await docker(["tag", OLD_IMAGE, IMAGES.own]);
      await docker(["rmi", OLD_IMAGE]);
    }
  });

  test("is not started with fewer stripes than it has orders on, and grows by one", async () => {
    const one = { STRIPES: "1", STRIPE_2: "0", STRIPE_2_SERVICES: "0", STRIPE_2_HAPROXIES: "0" };
    const refused = cluster.compose(["run", "--rm", "set-up"], one);
    await assert.rejects(refused, /this cluster has 2 stripes; with STRIPES=1 orders would be out of reach/);
    const half = cluster.compose(["run", "--rm", "set-up"], { STRIPES: "1" });
    await assert.rejects(half, /contradict each other: STRIPES=1 and STRIPE_2=1/);
    const before_ = await startOf(cluster.container("checker-1"));
    await cluster.up({ STRIPES: "3", STRIPE_3: "1", STRIPE_3_SERVICES: "1", STRIPE_3_HAPROXIES: "1" });
    assert.notEqual(await startOf(cluster.container("checker-1")), before_, "a checker that knows only two stripes");
    const moved = await fetch(`${cluster.opsUrl}/ops/v1/partitions/standard/rebalance`, { method: "POST" });
    assert.equal(moved.status, 202);
    const api = new OrdersApi(cluster.url);
    const deadline = new Deadline(GROWN_MAX_MS);
    for (;;) {
      const { transaction_id: id, trade_state: state } = await api.paidOrder();
      assert.equal(state, "SUCCESS");
      if (parseTransactionId(id).stripe === 3) break;
      assert.ok(!deadline.passed, "no order came to the new stripe");
    }
  });
});

/** Of a service with one container, whatever its number. */
async function imageOf(cluster: ComposeCluster, service: string): Promise<string> {
  const id = (await cluster.compose(["ps", "--quiet", service])).trim();
  return docker(["inspect", "--format", "{{.Image}}", id]);
}

function startOf(container: string): Promise<string> {
  return docker(["inspect", "--format", "{{.State.StartedAt}}", container]);
}

/** As an operator types it, in the project's folder. */
function typed(cluster: ComposeCluster, program: string, ...args: string[]): ReturnType<typeof outputOf> {
  return outputOf(spawn(program, args, { cwd: ROOT, env: { ...process.env, ...cluster.env } }));
}

function bytesOf(text: string): number {
  const [, number = "0", unit = ""] = /^([0-9.]+)([A-Za-z]+)$/.exec(text) ?? [];
  return Number(number) * ({ B: 1, KiB: 1024, MiB: MIB, GiB: 1024 * MIB }[unit] ?? Number.NaN);
}
