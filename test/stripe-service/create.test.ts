import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { connect, type ResultSetHeader } from "../../runtime/mysql.ts";
import type { Db } from "../../stripe-service/db/db.ts";
import { readFence } from "../../stripe-service/db/read-fence.ts";
import { servingFence } from "../../stripe-service/orders/tx.ts";
import { freshNo } from "../support/orders-api.ts";
import { atOnce, StripeHarness, tally, until } from "../support/stripe-harness.ts";

const FULL: Partial<CreateOrder> = {
  description: "☕️𠮷👩‍👩‍👧",
  attach: "",
  amount: { total: Number.MAX_SAFE_INTEGER, currency: "JPY" },
  notify_url: "https://shop.example/notify?a=1",
  payer: { openid: "payer-openid-1" },
};

describe("create", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start();
  });
  after(() => h[Symbol.asyncDispose]());

  test("a new order is answered 201 with what was asked, and is read back the same", async () => {
    const wire = h.wire(FULL);
    const { status, body } = await h.api.post("/orders", wire);
    assert.equal(status, 201);
    const { create_time: createTime, time_expire: timeExpire, ...rest } = body;
    const { amount, ...asked } = wire.order as CreateOrder;
    assert.deepEqual(rest, {
      transaction_id: wire.transaction_id,
      ...asked,
      amount: { ...amount, refunded: 0, refunding: 0, refundable: 0 },
      trade_state: "NOTPAY",
      payable: true,
      version: 1,
    });
    assert.equal(Date.parse(timeExpire) - Date.parse(createTime), 2 * 3600 * 1000);
    const read = await h.api.get(`/orders/${body.transaction_id}`);
    assert.deepEqual(read.body, body);
    assert.equal(read.headers["read-source"], "primary");
    const replica = await h.api.get(`/orders/${body.transaction_id}?read=replica`);
    assert.deepEqual(replica.body, body);
    assert.equal(replica.headers["read-source"], "replica");
    assert.match(String(replica.headers["read-lag-ms"]), /^[0-9]+$/);
  });

  test("the same order again, also under another number, is answered 200 with the first one", async () => {
    const wire = h.wire(FULL);
    const first = await h.api.post("/orders", wire);
    for (const again of [wire, { ...wire, transaction_id: h.nextId() }, { ...wire, as: "JUMP" }]) {
      const answer = await h.api.post("/orders", again);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["idempotent-replayed"], "true");
      assert.deepEqual(answer.body, first.body);
    }
    assert.deepEqual(await h.events(first.body.transaction_id), ["ORDER_CREATED"]);
  });

  test("other content under a known number is a conflict that names the differing fields", async () => {
    const wire = h.wire({ ...FULL, attach: "a" });
    const first = await h.api.post("/orders", wire);
    const order = wire.order as CreateOrder;
    const others: [Partial<CreateOrder>, string[]][] = [
      [{ description: "coffee" }, ["description"]],
      [{ amount: { total: 5, currency: "USD" } }, ["amount.total", "amount.currency"]],
      [{ payer: { openid: "someone-else" } }, ["payer"]],
      [{ time_expire: "2027-01-01T00:00:00.000Z" }, ["time_expire"]],
    ];
    for (const [change, fields] of others) {
      const { status, body } = await h.api.post("/orders", h.wire({ ...order, ...change }));
      assert.equal(status, 409);
      assert.equal(body.code, "OUT_TRADE_NO_USED");
      assert.deepEqual(body.conflict, { transaction_id: first.body.transaction_id, fields });
    }
  });

  test("numbers are compared byte for byte", async () => {
    const no = freshNo();
    const answers = [await h.api.post("/orders", h.wire({ out_trade_no: `${no}a` }))];
    answers.push(await h.api.post("/orders", h.wire({ out_trade_no: `${no}A` })));
    assert.deepEqual(tally(answers), { "201": 2 });
  });

  test("fifty identical creates at once make one order", async () => {
    for (let round = 0; round < 3; round++) {
      const wire = h.wire();
      const answers = await atOnce(50, () => h.api.post("/orders", { ...wire, transaction_id: h.nextId() }));
      assert.deepEqual(tally(answers), { "200": 49, "201": 1 });
      assert.equal(new Set(answers.map(({ body }) => body.transaction_id)).size, 1);
    }
  });

  test("when the first of twenty waiting creates is rolled back, one of the others wins and no one fails", async () => {
    for (let round = 0; round < 3; round++) {
      const wire = h.wire();
      const { mchid, out_trade_no: no } = wire.order as CreateOrder;
      const blocker = await connect(h.database.target, 5_000);
      await blocker.query("SET SESSION transaction_isolation = 'READ-COMMITTED'");
      await blocker.beginTransaction();
      await blocker.query("INSERT INTO merchant_orders VALUES (?, ?, ?, ?, ?)", [
        wire.bucket,
        mchid,
        no,
        h.nextId(),
        Buffer.alloc(32),
      ]);
      const pending = atOnce(20, () => h.api.post("/orders", { ...wire, transaction_id: h.nextId() }));
      const waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'update'";
      await until("creates wait", 1_500, async () => Number(await h.value(waiting)) >= 1);
      await blocker.rollback();
      await blocker.end();
      const answers = await pending;
      assert.deepEqual(tally(answers), { "200": 19, "201": 1 });
      assert.equal(new Set(answers.map(({ body }) => body.transaction_id)).size, 1);
    }
  });

  test("time_expire is from sixty seconds to ninety days ahead by the database's clock", async () => {
    const at = async (interval: string): Promise<string> =>
      String(await h.value(`SELECT DATE_FORMAT(UTC_TIMESTAMP(3) + INTERVAL ${interval}, '%Y-%m-%dT%H:%i:%s.000Z')`));
    const good = [await at("65 SECOND"), await at("129599 MINUTE")];
    for (const time of good) {
      const { status, body } = await h.api.post("/orders", h.wire({ time_expire: time }));
      assert.equal(status, 201);
      assert.equal(body.time_expire, time);
    }
    for (const time of [await at("58 SECOND"), await at("129602 MINUTE"), "2001-01-01T00:00:00.000Z"]) {
      const wire = h.wire({ time_expire: time });
      const { status, body } = await h.api.post("/orders", wire);
      assert.equal(status, 400);
      assert.deepEqual(body.errors[0].pointer, "/order/time_expire");
      const { mchid, out_trade_no: no } = wire.order as CreateOrder;
      assert.equal(
        await h.value("SELECT COUNT(*) FROM merchant_orders WHERE mchid = ? AND out_trade_no = ?", [mchid, no]),
        0,
      );
    }
  });

  test("an old create whose time_expire has come near is still recognised", async () => {
    const time = String(
      await h.value("SELECT DATE_FORMAT(UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, '%Y-%m-%dT%H:%i:%s.000Z')"),
    );
    const wire = h.wire({ time_expire: time });
    const first = await h.api.post("/orders", wire);
    // As if the same create had come fifty-nine minutes ago.
    const near = String(
      await h.value("SELECT DATE_FORMAT(UTC_TIMESTAMP(3) + INTERVAL 30 SECOND, '%Y-%m-%dT%H:%i:%s.000Z')"),
    );
    await h.database.sql("UPDATE orders SET time_expire = ? WHERE transaction_id = ?", [
      near.replace("T", " ").replace("Z", ""),
      first.body.transaction_id,
    ]);
    const again = { ...wire, order: { ...(wire.order as CreateOrder), time_expire: near } };
    const answer = await h.api.post("/orders", again);
    assert.equal(answer.status, 200);
    assert.equal(answer.body.transaction_id, first.body.transaction_id);
  });

  test("a wrong bucket, another stripe's number, an unknown member or a fraction is refused before the database", async () => {
    const wire = h.wire();
    const bad: [unknown, number][] = [
      [{ ...wire, bucket: ((wire.bucket as number) + 1) % 1024 }, 400],
      [{ ...wire, transaction_id: "1000082611292158170000000795" }, 400],
      [{ ...wire, extra: 1 }, 400],
      [JSON.stringify(wire).replace('"total":100', '"total":100.0'), 400],
      ["{", 400],
      [`{"a":"${"x".repeat(100_000)}"}`, 413],
    ];
    for (const [body, status] of bad) assert.equal((await h.api.post("/orders", body)).status, status);
  });

  test("while a create with rare characters runs, the server's process list can be read", async () => {
    const wire = h.wire(FULL);
    const holder = await connect(h.database.target, 5_000);
    await holder.beginTransaction();
    const [copied] = await holder.query<ResultSetHeader>(
      "INSERT INTO orders SELECT * FROM (SELECT * FROM orders LIMIT 1) o ON DUPLICATE KEY UPDATE transaction_id = ?",
      [wire.transaction_id],
    );
    assert.equal(copied.affectedRows, 2);
    const pending = h.api.post("/orders", wire);
    const running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO orders%'";
    await until("the create waits for the row", 1_500, async () => (await h.value(running)) === 1);
    await holder.rollback();
    await holder.end();
    assert.equal((await pending).status, 201);
  });

  test("a time without a fraction is told with three decimals", async () => {
    const connection = await connect(h.database.target, 5_000);
    await connection.query("SET SESSION timestamp = 1800000000, time_zone = '+00:00'");
    const rows = await readFence(connection as unknown as Db, [1], "SHARE");
    assert.equal(servingFence(rows, { place: 1 }).now, "2027-01-15T08:00:00.000Z");
    await connection.end();
    const { transaction_id: id } = await h.created();
    await h.database.sql("UPDATE orders SET create_time = '2026-01-01 00:00:00.000' WHERE transaction_id = ?", [id]);
    assert.equal((await h.api.get(`/orders/${id}`)).body.create_time, "2026-01-01T00:00:00.000Z");
  });

  test("the journal names what changed and never the payer", async () => {
    const wire = h.wire(FULL);
    const { body } = await h.api.post("/orders", wire);
    const [row] = await h.database.sql("SELECT * FROM order_events WHERE transaction_id = ?", [body.transaction_id]);
    assert.equal(row?.mchid, (wire.order as CreateOrder).mchid);
    assert.equal(row?.out_trade_no, (wire.order as CreateOrder).out_trade_no);
    assert.doesNotMatch(JSON.stringify(row), /payer-openid/);
  });
});
