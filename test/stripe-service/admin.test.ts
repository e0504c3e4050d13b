import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { wireStatsSchema } from "../../core/schemas/wire.ts";
import { atOnce, StripeHarness, tally } from "../support/stripe-harness.ts";

describe("the stripe's own state", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start();
  });
  after(() => h[Symbol.asyncDispose]());

  const put = (state: Record<string, unknown>) =>
    h.api.call("PUT", "/stripe-state", { accepts_creates: true, accepts_writes: true, ...state });

  test("sequence blocks never overlap and are journaled", async () => {
    const answers = await atOnce(20, (i) => h.api.post("/sequence-blocks", { size: i + 1 }));
    assert.deepEqual(tally(answers), { "200": 20 });
    const numbers = answers.flatMap(({ body }) => Array.from({ length: body.size }, (_, i) => body.first + i));
    assert.equal(new Set(numbers).size, 210);
    assert.equal(await h.value("SELECT COUNT(*) FROM order_events WHERE event_type = 'SEQUENCE_LEASED'"), 20);
    for (const size of [0, 10_001, "1"]) assert.equal((await h.api.post("/sequence-blocks", { size })).status, 400);
  });

  test("the routing version never falls, and every change is journaled", async () => {
    assert.equal((await put({ routing_version: 5 })).status, 200);
    const lower = await put({ routing_version: 4 });
    assert.deepEqual(
      [lower.status, lower.body.code, lower.body.conflict],
      [409, "STATE_NOT_ALLOWED", { routing_version: 5 }],
    );
    const same = await put({ routing_version: 5, accepts_creates: false });
    assert.deepEqual(same.body, { accepts_creates: false, accepts_writes: true, routing_version: 5 });
    assert.deepEqual((await h.api.get("/stripe-state")).body, same.body);
    assert.equal(await h.value("SELECT COUNT(*) FROM order_events WHERE event_type = 'STRIPE_STATE_CHANGED'"), 2);
    await put({ routing_version: 5 });
  });

  test("without accepts_creates new orders are refused 421, known ones recognised, payments taken", async () => {
    const known = h.wire();
    const { body: order } = await h.api.post("/orders", known);
    await put({ routing_version: 6, accepts_creates: false });
    const fresh = await h.api.post("/orders", h.wire());
    assert.deepEqual([fresh.status, fresh.body.code, fresh.body.routing_version], [421, "MISDIRECTED", 6]);
    assert.equal((await h.api.post("/orders", known)).status, 200);
    assert.equal((await h.api.pay(order.transaction_id)).status, 200);
    await put({ routing_version: 7 });
    assert.equal((await h.api.post("/orders", h.wire())).status, 201);
  });

  test("without accepts_writes nothing is written, reads go on", async () => {
    const paid = await h.paid();
    await put({ routing_version: 8, accepts_creates: false, accepts_writes: false });
    const before = await h.value("SELECT COUNT(*) FROM order_events");
    const id = paid.transaction_id;
    const answers = [
      await h.api.pay(id),
      await h.api.close(id),
      await h.api.refund(id, 1),
      await h.api.post("/orders", h.wire()),
      await h.api.post("/sequence-blocks", { size: 1 }),
    ];
    assert.deepEqual(tally(answers), { "421 MISDIRECTED": 5 });
    assert.equal(await h.value("SELECT COUNT(*) FROM order_events"), before);
    assert.deepEqual((await h.api.get(`/orders/${id}`)).body, paid);
    await put({ routing_version: 9 });
  });

  test("another place, another role or another triple's copy is refused 421, and not ready", async () => {
    const paid = await h.paid();
    const path = `/orders/${paid.transaction_id}`;
    assert.equal((await h.api.get(path, { "stripe-place": "2" })).status, 421);
    assert.equal((await h.api.get(path, { "stripe-place": "x" })).status, 400);
    const wrong: [string, string][] = [
      ["UPDATE stripe_state SET place = 2", "UPDATE stripe_state SET place = 1"],
      ["UPDATE stripe_state SET role = 'MOVED'", "UPDATE stripe_state SET role = 'PLACE'"],
      ["UPDATE stripe_state SET triple_id = 't9'", "UPDATE stripe_state SET triple_id = 't1'"],
    ];
    for (const [breaking, mending] of wrong) {
      await h.database.sql(breaking);
      const answers = [
        await h.api.get(path),
        await h.api.pay(paid.transaction_id),
        await h.api.post("/orders", h.wire()),
        await h.api.get(`${path}?read=replica`),
      ];
      assert.deepEqual(tally(answers), { "421 MISDIRECTED": 4 }, breaking);
      await h.database.sql(mending);
    }
    await h.database.sql("UPDATE stripe_state SET role = 'LEAVING', accepts_writes = 0");
    assert.equal((await h.api.get(path)).status, 421);
    assert.equal((await h.api.get(`${path}?read=replica`)).status, 200);
    await h.database.sql("UPDATE stripe_state SET role = 'PLACE', accepts_writes = 1");
  });

  test("stats count what operators ask for", async () => {
    const { status, body } = await h.api.get("/stats");
    assert.equal(status, 200);
    const stats = wireStatsSchema.parse(body);
    assert.equal(stats.home_buckets, 1024);
    assert.ok(stats.creates_last_minute > 0);
    assert.deepEqual(stats.handoffs, { PENDING: 0, CLAIMED: 0, DONE: 0 });
    assert.ok((stats.oldest_order_time ?? "") <= (stats.newest_order_time ?? ""));
  });

  test("of a busy stripe only the newest orders are counted, and the minute is told from them", async () => {
    const rows = Array.from({ length: 12_000 }, (_, i) => {
      const id = `CONCAT('1000${String(h.database.stripe).padStart(2, "0")}', @stamp, '${String(i).padStart(10, "0")}')`;
      return `(${id}, 'busy', 'busy-${i}', 'tea', 1, 'CNY', 'CLOSED', @created, UTC_TIMESTAMP(3), 0, 1)`;
    });
    await h.database.sql(
      "SET @stamp = DATE_FORMAT(UTC_TIMESTAMP(), '%y%m%d%H%i%s'), @created = UTC_TIMESTAMP(3) - INTERVAL 6 SECOND",
    );
    await h.database.sql(
      `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, total, currency, trade_state, create_time,
         time_expire, time_expire_given, version) VALUES ${rows.join(", ")}`,
    );
    const { creates_last_minute: creates } = wireStatsSchema.parse((await h.api.get("/stats")).body);
    // 10,000 of them, a little more than six seconds old on average: as if over twelve seconds.
    assert.ok(creates > 30_000 && creates <= 50_000, `${creates}`);
    await h.database.sql("DELETE FROM orders WHERE mchid = 'busy'");
  });

  test("a deadline that has passed is refused before anything is asked of the database", async () => {
    const answer = await h.api.post("/orders", h.wire(), { "deadline-ms": "20" });
    assert.deepEqual([answer.status, answer.body.code, answer.headers["retry-after"]], [503, "OVERLOADED", "1"]);
  });

  test("request ids are echoed in answers and problem documents", async () => {
    const answer = await h.api.get(`/orders/${h.nextId()}`, {
      "request-id": "abc-1",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    });
    assert.equal(answer.headers["request-id"], "abc-1");
    assert.equal(answer.headers.traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert.equal(answer.body.request_id, "abc-1");
    assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
  });
});
