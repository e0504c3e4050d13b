import assert from "node:assert/strict";
import { afterEach, before, describe, test } from "node:test";
import supertest from "supertest";
import type { z } from "zod";
import {
  auditListSchema,
  merchantListSchema,
  partitionListSchema,
  stripeListSchema,
  stripeViewSchema,
  taskSchema,
} from "../../core/schemas/ops.ts";
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
      [{ color: "red" }, "/color"],
      [{}, ""],
      [[], ""],
    ] as const) {
      const answer = await patch(2, change);
      assert.equal(answer.status, 400, JSON.stringify(change));
      assert.equal(answer.body.errors[0].pointer, pointer);
    }
    assert.equal((await supertest(ops).get("/ops/v1/stripes/2")).headers.etag, before.headers.etag);
    assert.equal((await supertest(ops).get("/ops/v1/stripes/77")).status, 404);
    assert.equal((await supertest(ops).get("/ops/v1/stripes/x")).status, 400);
  });

  test("the ops API is as strict as the merchants': methods, query, Accept, bodies, words", async () => {
    const at = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      fetch(`${ops}/ops/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    for (const [method, path, allow] of [
      ["DELETE", "/stripes/2", "GET, HEAD, PATCH"],
      ["PUT", "/stripes", "GET, HEAD"],
      ["GET", "/stripes/2/switchover", "POST"],
      ["PATCH", "/merchants", "GET, HEAD, POST"],
    ] as const) {
      const answer = await at(method, path);
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, allow], `${method} ${path}`);
    }
    for (const [path, issue] of [
      ["/stripes?x=1", "unknown parameter"],
      ["/audit?limit=1&limit=2", "the parameter appears twice"],
      ["/audit?limit=many", "must be a number"],
      ["/audit?limit=0", "must be at least 1"],
    ] as const) {
      const answer = await at("GET", path);
      const body = (await answer.json()) as { code: string; errors: { issue: string }[] };
      assert.deepEqual([answer.status, body.code, body.errors[0]?.issue], [400, "PARAM_ERROR", issue], path);
    }
    assert.equal((await at("GET", "/stripes", { accept: "text/html" })).status, 406);
    assert.equal((await at("GET", "/Stripes")).status, 404);
    const json = { "content-type": "application/json" };
    assert.equal((await at("POST", "/merchants", { "content-type": "text/plain" }, "{}")).status, 415);
    assert.equal((await at("POST", "/merchants", json, '{"mchid":"a","mchid":"b"}')).status, 400);
    assert.equal((await at("POST", "/merchants", json, `"${"x".repeat(70_000)}"`)).status, 413);
  });

  test("an operator sees each server of a stripe: its role, how far it is behind, and the room on its disk", async () => {
    interface Server {
      server: string;
      role: string;
      data: string;
      lag_ms: number;
      free_bytes: number;
      total_bytes: number;
      fault: string | null;
      answered_ago_ms: number;
    }
    const { body } = await supertest(ops).get("/ops/v1/stripes/1");
    assert.match(body.triple_id, /^t0001-/);
    const servers = body.servers as Server[];
    assert.deepEqual(servers.map(({ role }) => role).sort(), ["follower", "follower", "open"]);
    for (const server of servers) {
      assert.equal(server.data, "VALID");
      assert.equal(server.fault, null, server.server);
      assert.ok(server.lag_ms >= 0 && server.lag_ms < 10_000, `${server.server}: ${server.lag_ms}`);
      assert.ok(server.free_bytes > 0 && server.free_bytes < server.total_bytes);
      assert.ok(server.answered_ago_ms < 5_000);
    }
    assert.ok(servers.some(({ server, role }) => role === "open" && server === body.triple.source));
    const all = (await supertest(ops).get("/ops/v1/stripes")).body.stripes as { servers: Server[] }[];
    assert.ok(all.every((stripe) => stripe.servers.length === 3));
  });

  test("the ops API answers what its document says, member for member", async () => {
    await patch(2, { weight: 100 });
    const merchant = { mchid: "documented", create_policy: "strict" };
    await supertest(ops).post("/ops/v1/merchants").send(merchant).expect(200);
    const wish = await supertest(ops).post("/ops/v1/stripes/3/switchover").send({ to: "s3z" });
    const documented: readonly (readonly [string, z.ZodType])[] = [
      ["/stripes", stripeListSchema],
      ["/stripes/1", stripeViewSchema],
      ["/partitions", partitionListSchema],
      ["/merchants", merchantListSchema],
      ["/audit", auditListSchema],
      [`/tasks/${wish.body.id}`, taskSchema],
    ];
    for (const [path, schema] of documented) {
      const { status, body } = await supertest(ops).get(`/ops/v1${path}`);
      assert.equal(status, 200, path);
      assert.deepEqual(schema.parse(body), body, path);
    }
    const { body: document } = await supertest(ops).get("/openapi.json");
    assert.equal(Object.keys(document.paths).length, 10);
    const html = (await supertest(ops).get("/docs").expect(200)).text;
    assert.doesNotMatch(html, /<script|<link|<img|src=|@import|url\(|https?:/i);
  });
});
