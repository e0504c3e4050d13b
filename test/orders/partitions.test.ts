// A cluster of its own: one stripe serves `standard`, two start without buckets and are given to `vip` by operators.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import supertest from "supertest";
import { merchantSlot } from "../../core/partitions.ts";
import { type Cluster, startCluster } from "../../local-cluster/cluster.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import { atOnce, createBody, freshNo, OrdersApi, stripeOf } from "../support/orders-api.ts";

const SPREAD_MAX_MS = 10_000;
const POLL_MS = 50;
const VIP = [2, 3];

describe("partitions", { timeout: 240_000 }, () => {
  let cluster: Cluster;
  let api: OrdersApi;
  let ops: string;

  before(async () => {
    cluster = await startCluster({ ephemeral: true, stripes: 3, spares: 2, checkers: 1 });
    const { proxies, ops: opsProcess } = cluster.info();
    api = new OrdersApi(proxies[0]?.url ?? "");
    ops = opsProcess.url;
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  async function patch(stripe: number, change: object): Promise<supertest.Response> {
    const path = `/ops/v1/stripes/${stripe}`;
    const { etag } = (await supertest(ops).get(path)).headers;
    return supertest(ops).patch(path).set("If-Match", String(etag)).set("Ops-Actor", "tester").send(change);
  }

  function post(path: string, body: object = {}): Promise<supertest.Response> {
    return Promise.resolve(supertest(ops).post(`/ops/v1/${path}`).set("Ops-Actor", "tester").send(body));
  }

  async function created(mchid: string, outTradeNo = freshNo()): Promise<{ id: string; stripe: number; no: string }> {
    const { transaction_id: id } = await api.created({ mchid, out_trade_no: outTradeNo });
    return { id, stripe: stripeOf(id), no: outTradeNo };
  }

  async function stripesOf(mchid: string, orders = 24): Promise<number[]> {
    const all = await atOnce(orders, () => created(mchid));
    return [...new Set(all.map(({ stripe }) => stripe))].sort((a, b) => a - b);
  }

  /** Waits until the proxy places the merchant's orders on these stripes only. */
  async function placed(mchid: string, stripes: readonly number[]): Promise<void> {
    const limit = monotonicMs() + SPREAD_MAX_MS;
    for (;;) {
      const now = await stripesOf(mchid); // of a few all may be there by chance
      if (now.every((stripe) => stripes.includes(stripe))) return;
      assert.ok(monotonicMs() < limit, `${mchid} is still placed on ${now.join()}`);
      await sleep(POLL_MS);
    }
  }

  /** Stripes without buckets take jumps, and so may hold jumped orders for a moment. */
  async function joined(stripe: number): Promise<void> {
    const limit = monotonicMs() + SPREAD_MAX_MS;
    for (;;) {
      const answer = await patch(stripe, { partition: "vip" });
      if (answer.status === 200) return;
      assert.ok(monotonicMs() < limit, JSON.stringify(answer.body));
      await sleep(POLL_MS);
    }
  }

  test("nobody is placed in a partition before it has homes, and no stripe leaves one that it is home in", async () => {
    const early = await post("merchants", { mchid: "shop-vip", partition: "vip" });
    assert.deepEqual([early.status, early.body.code], [409, "STATE_NOT_ALLOWED"]);
    assert.equal((await post("partitions/vip")).status, 409, "no stripe serves it");
    const home = await patch(1, { partition: "vip" });
    assert.deepEqual([home.status, home.body.code], [409, "STATE_NOT_ALLOWED"]);
    assert.match(String(home.body.detail), /is home to 1024 buckets of partition standard/);
    assert.equal((await supertest(ops).get("/ops/v1/stripes/1")).body.partition, "standard");
    await created("shop-standard");
  });

  test("stripes join a partition and are given its buckets, once", async () => {
    for (const stripe of VIP) await joined(stripe);
    const given = await post("partitions/vip");
    assert.deepEqual([given.status, given.body], [200, { given: 1024 }]);
    assert.deepEqual((await post("partitions/vip")).body, { given: 0 });
    const { body } = await supertest(ops).get("/ops/v1/partitions");
    const vip = (body.partitions as { partition: string; homes: number; stripes: { buckets: number }[] }[]).find(
      (p) => p.partition === "vip",
    );
    assert.equal(vip?.homes, 1024);
    assert.deepEqual(
      vip?.stripes.map((s) => s.buckets),
      [512, 512],
    );
    assert.equal((await patch(2, { partition: "standard" })).status, 409, "it is home to buckets now");
    const { body: shown } = await supertest(ops).get("/ops/v1/stripes/3");
    assert.deepEqual([shown.partition, shown.applied, shown.buckets], ["vip", true, 512]);
  });

  test("merchants of each partition are placed in it and nowhere else, and the audit says who moved them", async () => {
    const set = await post("merchants", { mchid: "shop-vip", partition: "vip" });
    assert.deepEqual(set.body, {
      mchid: "shop-vip",
      partition: "vip",
      create_policy: "jump",
      former_partitions: ["standard"],
    });
    await placed("shop-vip", VIP);
    assert.deepEqual(await stripesOf("shop-vip"), VIP);
    const fresh = { mchid: "shop-new", partition: "vip", former_partitions: [] };
    assert.deepEqual((await post("merchants", fresh)).body, { ...fresh, create_policy: "jump" });
    assert.equal((await post("merchants", { ...fresh, former_partitions: ["standard"] })).status, 400);
    assert.deepEqual(await stripesOf("shop-standard"), [1]);
    const { body } = await supertest(ops).get("/ops/v1/audit?subject=merchant/shop-vip&limit=1");
    assert.deepEqual([body.audit[0].actor, body.audit[0].after.partition], ["tester", "vip"]);
    const { body: listed } = await supertest(ops).get("/ops/v1/merchants?mchid=shop-vip");
    assert.equal(listed.merchants[0].partition, "vip");
    assert.equal((await post("merchants", { mchid: "shop-vip" })).status, 400, "nothing to set");
    assert.equal((await post("merchants", { mchid: "no such", partition: "vip" })).status, 400);
  });

  test("numbers that a merchant made before it was moved are recognised and found", async () => {
    const old = await created("shop-mover");
    await post("merchants", { mchid: "shop-mover", partition: "vip" });
    await placed("shop-mover", VIP);
    const again = await api.post<{ transaction_id: string }>(
      "/v1/orders",
      createBody({ mchid: "shop-mover", out_trade_no: old.no }),
    );
    assert.deepEqual([again.status, again.body.transaction_id], [200, old.id]);
    const other = await api.create({ mchid: "shop-mover", out_trade_no: old.no, description: "other" });
    assert.deepEqual([other.status, other.body.code], [409, "OUT_TRADE_NO_USED"]);
    const found = await api.get<{ transaction_id: string }>(`/v1/orders/out-trade-no/${old.no}?mchid=shop-mover`);
    assert.deepEqual([found.status, found.body.transaction_id], [200, old.id]);
    assert.equal((await api.get(`/v1/orders/out-trade-no/${freshNo()}?mchid=shop-mover`)).status, 404);
    await post("merchants", { mchid: "shop-mover", partition: "standard" });
    await placed("shop-mover", [1]);
    assert.equal((await api.get(`/v1/orders/out-trade-no/${old.no}?mchid=shop-mover`)).status, 200);
  });

  test("a trial takes the share of merchants that the hash says, and those who leave it keep their numbers", async () => {
    const merchants = Array.from({ length: 30 }, (_, i) => `trial-${i}`);
    const inTrial = (mchid: string): boolean => merchantSlot(mchid) < 3_000;
    assert.ok(merchants.some(inTrial) && !merchants.every(inTrial));
    const trial = await post("partitions/standard/trial", { to: "vip", percent: 30 });
    assert.deepEqual([trial.status, trial.body.percent, trial.body.percent_max], [200, 30, 30]);
    const first = merchants.find(inTrial) ?? "";
    await placed(first, VIP);
    const orders = await Promise.all(merchants.map((mchid) => created(mchid)));
    for (const [i, { stripe }] of orders.entries()) {
      assert.equal(VIP.includes(stripe), inTrial(merchants[i] ?? ""), `${merchants[i]} on ${stripe}`);
    }
    for (const [body, status] of [
      [{ to: "standard", percent: 1 }, 409],
      [{ to: "nowhere", percent: 1 }, 409],
      [{ to: "vip", percent: 0.001 }, 400],
      [{ to: "vip", percent: 101 }, 400],
    ] as const) {
      assert.equal((await post("partitions/standard/trial", body)).status, status, JSON.stringify(body));
    }
    assert.equal((await post("partitions/vip/trial", { to: "standard", percent: 1 })).status, 409, "no chains");
    const ended = await post("partitions/standard/trial", { to: "vip", percent: 0 });
    assert.deepEqual([ended.body.percent, ended.body.percent_max], [0, 30]);
    await placed(first, [1]);
    const its = orders[merchants.indexOf(first)];
    const again = await api.post<{ transaction_id: string }>(
      "/v1/orders",
      createBody({ mchid: first, out_trade_no: its?.no }),
    );
    assert.deepEqual([again.status, again.body.transaction_id], [200, its?.id]);
  });

  test("jumps stay inside: with a vip stripe gone vip goes to the other one, with both gone nowhere; standard never notices", async () => {
    await patch(2, { blocked: true });
    await placed("shop-vip", [3]);
    assert.deepEqual(await stripesOf("shop-vip"), [3]);
    await patch(3, { blocked: true });
    const limit = monotonicMs() + SPREAD_MAX_MS;
    for (;;) {
      const answer = await api.create({ mchid: "shop-vip" });
      if (answer.status === 503) {
        assert.equal(answer.body.code, "NO_STRIPE_AVAILABLE");
        break;
      }
      assert.equal(stripeOf(answer.body.transaction_id), 3);
      assert.ok(monotonicMs() < limit, "stripe 3 still takes orders");
    }
    assert.deepEqual(await stripesOf("shop-standard"), [1]);
    for (const stripe of VIP) await patch(stripe, { blocked: false });
    await patch(1, { blocked: true });
    const gone = monotonicMs() + SPREAD_MAX_MS;
    while ((await api.create({ mchid: "shop-standard" })).status !== 503) assert.ok(monotonicMs() < gone);
    assert.deepEqual(await stripesOf("shop-vip"), VIP);
    await patch(1, { blocked: false });
  });
});
