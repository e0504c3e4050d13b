import assert from "node:assert/strict";
import { afterEach, before, describe, test } from "node:test";
import supertest from "supertest";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import { atOnce, OrdersApi, stripeOf } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

const TABLE_SPREAD_MAX_MS = 5_000;

describe("operators change stripes while orders flow", () => {
  let api: OrdersApi;
  let ops: string;
  before(async () => {
    const cluster = await sharedCluster();
    api = new OrdersApi(cluster.url);
    ops = cluster.opsUrl;
  });

  async function etag(stripe: number): Promise<string> {
    return String((await supertest(ops).get(`/ops/v1/stripes/${stripe}`)).headers.etag);
  }

  async function patch(stripe: number, change: object): Promise<supertest.Response> {
    return supertest(ops)
      .patch(`/ops/v1/stripes/${stripe}`)
      .set("If-Match", await etag(stripe))
      .set("Ops-Actor", "tester")
      .send(change);
  }

  afterEach(async () => {
    await patch(2, { temperature: "hot", blocked: false, weight: 100 });
  });

  /** Creates until `count` in a row land elsewhere than on stripe 2. */
  async function untilStripe2TakesNothing(): Promise<void> {
    const limit = monotonicMs() + TABLE_SPREAD_MAX_MS;
    for (;;) {
      const made = await atOnce(30, () => api.created());
      if (made.every((order) => stripeOf(order.transaction_id) !== 2)) return;
      assert.ok(monotonicMs() < limit, "stripe 2 still takes orders");
    }
  }

  test("a warm stripe takes no new order from the moment its change is applied; its old orders are paid and refunded", async () => {
    const old = (await atOnce(30, () => api.created())).find((o) => stripeOf(o.transaction_id) === 2);
    assert.ok(old !== undefined);
    const changed = await patch(2, { temperature: "warm" });
    assert.equal(changed.status, 200);
    assert.equal(changed.body.applied, true);
    const made = await atOnce(60, () => api.created());
    assert.ok(made.every((order) => stripeOf(order.transaction_id) !== 2));
    assert.equal((await api.pay(old.transaction_id)).status, 200);
    assert.equal((await api.refund(old.transaction_id, 10)).status, 201);
  });

  test("a blocked stripe, and one of weight 0, get no new orders; afterwards they get some again", async () => {
    for (const change of [{ blocked: true }, { weight: 0 }]) {
      assert.equal((await patch(2, change)).status, 200);
      await untilStripe2TakesNothing();
      await patch(2, { blocked: false, weight: 100 });
    }
    const limit = monotonicMs() + TABLE_SPREAD_MAX_MS;
    while (!(await atOnce(30, () => api.created())).some((o) => stripeOf(o.transaction_id) === 2)) {
      assert.ok(monotonicMs() < limit, "stripe 2 gets no orders");
    }
  });

  test("creates go on without an error while an operator switches a stripe to and fro", async () => {
    let on = true;
    const faults: unknown[] = [];
    const load = atOnce(8, async () => {
      while (on) {
        const answer = await api.create();
        if (answer.status !== 201) faults.push(answer.body);
      }
    });
    for (let i = 0; i < 6; i++) {
      await patch(2, { temperature: i % 2 === 0 ? "cold" : "hot" });
      await sleep(200);
    }
    on = false;
    await load;
    assert.deepEqual(faults, []);
  });

  test("a change needs If-Match; the second of two operators is told that somebody was first", async () => {
    const without = await supertest(ops).patch("/ops/v1/stripes/2").send({ blocked: true });
    assert.deepEqual([without.status, without.body.code], [428, "PRECONDITION_REQUIRED"]);
    const seen = await etag(2);
    const send = (change: object) => supertest(ops).patch("/ops/v1/stripes/2").set("If-Match", seen).send(change);
    const answers = await Promise.all([send({ weight: 90 }), send({ weight: 80 })]);
    assert.deepEqual(
      answers.map((a) => a.status).sort((a, b) => a - b),
      [200, 412],
    );
    const other = await supertest(ops)
      .patch("/ops/v1/stripes/1")
      .set("If-Match", await etag(1))
      .send({ weight: 100 });
    assert.equal(other.status, 200, "operators on different stripes do not refuse each other");
  });

  test("the audit tells who changed what from what to what", async () => {
    await patch(2, { weight: 70 });
    const { body } = await supertest(ops).get("/ops/v1/audit?subject=stripe/2&limit=1");
    const [entry] = body.audit as {
      actor: string;
      action: string;
      before: { weight: number };
      after: { weight: number };
    }[];
    assert.equal(entry?.actor, "tester");
    assert.equal(entry?.action, "stripe.patch");
    assert.deepEqual([entry?.before.weight, entry?.after.weight], [100, 70]);
  });

  test("bad changes are refused with what is wrong, and change nothing", async () => {
    const before = await supertest(ops).get("/ops/v1/stripes/2");
    for (const [change, pointer] of [
      [{ temperature: "tepid" }, "/temperature"],
      [{ weight: -1 }, "/weight"],
      [{ weight: 1.5 }, "/weight"],
      [{ blocked: "yes" }, "/blocked"],
      [{ color: "red" }, "/"],
      [{}, "/"],
    ] as const) {
      const answer = await patch(2, change);
      assert.equal(answer.status, 400, JSON.stringify(change));
      assert.equal(answer.body.errors[0].pointer, pointer);
    }
    assert.equal((await supertest(ops).get("/ops/v1/stripes/2")).headers.etag, before.headers.etag);
    assert.equal((await supertest(ops).get("/ops/v1/stripes/77")).status, 404);
    assert.equal((await supertest(ops).get("/ops/v1/stripes/x")).status, 400);
  });
});
