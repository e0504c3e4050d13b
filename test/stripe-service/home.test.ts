import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../core/placement.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { freshNo } from "../support/orders-api.ts";
import { atOnce, StripeHarness, tally } from "../support/stripe-harness.ts";

/** A merchant number whose bucket is, or is not, below 512. */
function numberIn(low: boolean): string {
  for (;;) {
    const outTradeNo = freshNo();
    if (bucketOf({ mchid: "m1", outTradeNo }) < 512 === low) return outTradeNo;
  }
}

describe("home and handoff", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start({ homeBuckets: Array.from({ length: 512 }, (_, bucket) => bucket) });
  });
  after(() => h[Symbol.asyncDispose]());

  const lookup = (order: CreateOrder, where: "index" | "handoffs") => {
    const bucket = bucketOf({ mchid: order.mchid, outTradeNo: order.out_trade_no });
    return h.api.get(`/lookup?mchid=${order.mchid}&out_trade_no=${order.out_trade_no}&bucket=${bucket}&in=${where}`);
  };

  test("a create for a bucket that is not at home here is refused 421 with the routing version", async () => {
    await h.api.call("PUT", "/stripe-state", { accepts_creates: true, accepts_writes: true, routing_version: 42 });
    const wire = h.wire({ out_trade_no: numberIn(false) });
    const { status, body } = await h.api.post("/orders", wire);
    assert.equal(status, 421);
    assert.equal(body.code, "MISDIRECTED");
    assert.equal(body.routing_version, 42);
    assert.equal((await lookup(wire.order as CreateOrder, "index")).status, 421);
    assert.equal((await lookup(wire.order as CreateOrder, "handoffs")).status, 404);
  });

  test("a jumped create writes a pending handoff with the failed numbers, and no index row", async () => {
    const failed = [h.nextId(), h.nextId()];
    const wire = h.wire({ out_trade_no: numberIn(false) }, { as: "JUMP", failed });
    const { status, body } = await h.api.post("/orders", wire);
    assert.equal(status, 201);
    const [handoff] = await h.database.sql("SELECT * FROM handoffs WHERE transaction_id = ?", [body.transaction_id]);
    assert.equal(handoff?.state, "PENDING");
    assert.equal(handoff?.failed, failed.join(","));
    assert.equal(handoff?.bucket, wire.bucket);
    assert.equal(
      await h.value("SELECT COUNT(*) FROM merchant_orders WHERE transaction_id = ?", [body.transaction_id]),
      0,
    );
    const found = await lookup(wire.order as CreateOrder, "handoffs");
    assert.equal(found.status, 200);
    assert.deepEqual(found.body, body);
  });

  test("a jumped create is recognised by its handoff, whose failed numbers never change", async () => {
    const failed = [h.nextId()];
    const wire = h.wire({ out_trade_no: numberIn(false) }, { as: "JUMP", failed });
    const answers = await atOnce(20, () => h.api.post("/orders", { ...wire, transaction_id: h.nextId() }));
    assert.deepEqual(tally(answers), { "200": 19, "201": 1 });
    const again = await h.api.post("/orders", { ...wire, failed: [h.nextId(), h.nextId()] });
    assert.equal(again.status, 200);
    assert.equal(
      await h.value("SELECT failed FROM handoffs WHERE out_trade_no = ?", [(wire.order as CreateOrder).out_trade_no]),
      failed.join(","),
    );
    const other = await h.api.post(
      "/orders",
      h.wire({ ...(wire.order as CreateOrder), description: "x" }, { as: "JUMP" }),
    );
    assert.deepEqual([other.status, other.body.code], [409, "OUT_TRADE_NO_USED"]);
    assert.deepEqual(other.body.conflict.fields, ["description"]);
  });

  test("a create that jumped to the bucket's home takes the index path", async () => {
    const wire = h.wire({ out_trade_no: numberIn(true) }, { as: "JUMP" });
    const { status, body } = await h.api.post("/orders", wire);
    assert.equal(status, 201);
    assert.equal(await h.value("SELECT COUNT(*) FROM handoffs WHERE transaction_id = ?", [body.transaction_id]), 0);
    assert.deepEqual((await lookup(wire.order as CreateOrder, "index")).body, body);
  });

  test("IMPORTING and MOVED are not home", async () => {
    const outTradeNo = numberIn(false);
    const bucket = bucketOf({ mchid: "m1", outTradeNo });
    for (const role of ["IMPORTING", "MOVED"]) {
      await h.database.sql("REPLACE INTO bucket_state (bucket, role) VALUES (?, ?)", [bucket, role]);
      assert.equal((await h.api.post("/orders", h.wire({ out_trade_no: outTradeNo }))).status, 421);
    }
  });

  test("a pointer to another stripe is a definite answer without an order", async () => {
    const wire = h.wire({ out_trade_no: numberIn(true) });
    const { mchid, out_trade_no: no } = wire.order as CreateOrder;
    const elsewhere = "1000082611292158170000000795";
    const hash = String(wire.request_hash);
    await h.database.sql("INSERT INTO merchant_orders VALUES (?, ?, ?, ?, ?)", [
      wire.bucket,
      mchid,
      no,
      elsewhere,
      Buffer.from(hash, "hex"),
    ]);
    for (const answer of [await h.api.post("/orders", wire), await lookup(wire.order as CreateOrder, "index")]) {
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["order-pointer"], elsewhere);
      assert.deepEqual(answer.body, { transaction_id: elsewhere, request_hash: hash });
    }
  });

  test("a superseded order is replayed as it is, with superseded_by shown", async () => {
    const wire = h.wire({ out_trade_no: numberIn(true) });
    const { body: order } = await h.api.post("/orders", wire);
    const survivor = "1000082611292158170000000795";
    await h.database.sql(
      "UPDATE orders SET trade_state='CLOSED', close_reason='DUPLICATE', close_time=UTC_TIMESTAMP(3), superseded_by=?, version=2 WHERE transaction_id=?",
      [survivor, order.transaction_id],
    );
    const again = await h.api.post("/orders", wire);
    assert.equal(again.status, 200);
    assert.equal(again.body.superseded_by, survivor);
    const pay = await h.api.pay(order.transaction_id);
    assert.deepEqual([pay.status, pay.body.code], [409, "ORDER_CLOSED"]);
    assert.equal(pay.body.order.superseded_by, survivor);
    assert.equal(pay.body.conflict.superseded_by, survivor);
    assert.equal(
      await h.value("SELECT reason FROM excess_payments WHERE transaction_id=?", [order.transaction_id]),
      "LATE",
    );
  });
});
