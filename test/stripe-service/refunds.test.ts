import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { freshNo } from "../support/orders-api.ts";
import { atOnce, StripeHarness, tally } from "../support/stripe-harness.ts";

describe("refunds", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start({ instances: 2, env: { REFUND_BLOCK_SIZE: "10" } });
  });
  after(() => h[Symbol.asyncDispose]());

  const amounts = async (id: string) => (await h.api.get(`/orders/${id}`)).body.amount;
  const result = (refundId: string, status: string) => h.api.post(`/refunds/${refundId}/result`, { status });

  test("a refund reserves its amount and is read back by its number and in the order's list", async () => {
    const { transaction_id: id } = await h.paid();
    const { status, body } = await h.api.refund(id, 30, { out_refund_no: "r1", reason: "质量问题" });
    assert.equal(status, 201);
    assert.equal(body.status, "PROCESSING");
    assert.match(body.refund_id, /^500007[0-9]{22}$/);
    assert.deepEqual(body.amount, { refund: 30, total: 100, currency: "CNY" });
    assert.deepEqual((await h.api.get(`/refunds/${body.refund_id}`)).body, body);
    const second = await h.api.refund(id, 20);
    assert.deepEqual((await h.api.get(`/orders/${id}/refunds`)).body, { refunds: [body, second.body] });
    assert.deepEqual(await amounts(id), { total: 100, currency: "CNY", refunded: 0, refunding: 50, refundable: 50 });
    const order = (await h.api.get(`/orders/${id}`)).body;
    assert.deepEqual([order.trade_state, order.version], ["SUCCESS", 4]);
    const fresh = await h.paid();
    assert.deepEqual((await h.api.get(`/orders/${fresh.transaction_id}/refunds`)).body, { refunds: [] });
  });

  test("the same refund again is answered 200 with the first one; other content is refused", async () => {
    const { transaction_id: id } = await h.paid();
    const first = await h.api.refund(id, 60, { out_refund_no: "r1" });
    const again = await h.api.refund(id, 60, { out_refund_no: "r1" });
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, first.body);
    for (const [refund, extra, fields] of [
      [50, {}, ["amount.refund"]],
      [60, { reason: "x" }, ["reason"]],
      [60, { amount: { refund: 60, total: 99, currency: "USD" } }, ["amount.total", "amount.currency"]],
    ] as const) {
      const { status, body } = await h.api.refund(id, refund, { out_refund_no: "r1", ...extra });
      assert.deepEqual([status, body.code], [409, "OUT_REFUND_NO_USED"]);
      assert.deepEqual(body.conflict, { refund_id: first.body.refund_id, fields });
    }
    assert.equal((await amounts(id)).refunding, 60);
  });

  test("a replay is recognised also when nothing is left to refund", async () => {
    const { transaction_id: id } = await h.paid();
    const first = await h.api.refund(id, 100, { out_refund_no: "all" });
    await result(first.body.refund_id, "SUCCESS");
    const again = await h.api.refund(id, 100, { out_refund_no: "all" });
    assert.deepEqual([again.status, again.body.status], [200, "SUCCESS"]);
  });

  test("more than is left is refused with what is left; a wrong total or currency is a 400", async () => {
    const { transaction_id: id } = await h.paid();
    await h.api.refund(id, 60);
    const { status, body } = await h.api.refund(id, 41);
    assert.deepEqual([status, body.code, body.conflict], [409, "REFUND_AMOUNT_EXCEEDED", { refundable: 40 }]);
    assert.equal(body.order.amount.refundable, 40);
    const total = await h.api.refund(id, 1, { amount: { refund: 1, total: 99, currency: "CNY" } });
    assert.deepEqual([total.status, total.body.code], [400, "AMOUNT_MISMATCH"]);
    const currency = await h.api.refund(id, 1, { amount: { refund: 1, total: 100, currency: "USD" } });
    assert.deepEqual([currency.status, currency.body.code], [400, "CURRENCY_MISMATCH"]);
    for (const refund of [0, -1, null, 1.5]) assert.equal((await h.api.refund(id, refund as number)).status, 400);
    assert.equal((await h.api.refund(id, 40)).status, 201);
  });

  test("an unpaid, a closed and an unknown order cannot be refunded", async () => {
    const open = await h.created();
    assert.equal((await h.api.refund(open.transaction_id, 1)).body.code, "ORDER_NOT_PAID");
    await h.api.close(open.transaction_id);
    assert.equal((await h.api.refund(open.transaction_id, 1)).body.code, "ORDER_NOT_PAID");
    assert.equal((await h.api.refund(h.nextId(), 1)).body.code, "ORDER_NOT_EXIST");
  });

  test("an order has at most fifty refunds, closed ones included", async () => {
    const { transaction_id: id } = await h.paid();
    for (let i = 0; i < 50; i++) assert.equal((await h.api.refund(id, 1)).status, 201);
    const { status, body } = await h.api.refund(id, 1);
    assert.deepEqual([status, body.code], [409, "REFUND_COUNT_EXCEEDED"]);
    const { refunds } = (await h.api.get(`/orders/${id}/refunds`)).body;
    assert.equal(refunds.length, 50);
    assert.equal(new Set(refunds.map((refund: { refund_id: string }) => refund.refund_id)).size, 50);
  });

  test("the order becomes REFUND at the first refund that succeeds; CLOSED gives the amount back, ABNORMAL keeps it", async () => {
    const { transaction_id: id } = await h.paid();
    const [a, b, c] = [await h.api.refund(id, 10), await h.api.refund(id, 20), await h.api.refund(id, 30)].map(
      ({ body }) => body.refund_id,
    );
    assert.equal((await result(b, "CLOSED")).body.status, "CLOSED");
    assert.deepEqual(await amounts(id), { total: 100, currency: "CNY", refunded: 0, refunding: 40, refundable: 60 });
    assert.equal((await result(c, "ABNORMAL")).body.status, "ABNORMAL");
    assert.equal((await amounts(id)).refunding, 40);
    assert.equal((await h.api.get(`/orders/${id}`)).body.trade_state, "SUCCESS");
    const done = await result(a, "SUCCESS");
    assert.match(done.body.success_time, /Z$/);
    const order = (await h.api.get(`/orders/${id}`)).body;
    assert.equal(order.trade_state, "REFUND");
    assert.deepEqual(order.amount, { total: 100, currency: "CNY", refunded: 10, refunding: 30, refundable: 60 });
    assert.equal((await result(c, "CLOSED")).body.status, "CLOSED");
    assert.equal((await amounts(id)).refunding, 0);
    assert.equal((await h.api.refund(id, 90)).status, 201);
    const events = await h.events(id);
    assert.deepEqual(events.slice(5), [
      "REFUND_CLOSED",
      "REFUND_ABNORMAL",
      "REFUND_SUCCEEDED",
      "REFUND_CLOSED",
      "REFUND_CREATED",
    ]);
  });

  test("the same result again changes nothing, another final result is a conflict", async () => {
    const { transaction_id: id } = await h.paid();
    const { refund_id: refundId } = (await h.api.refund(id, 10)).body;
    const first = await result(refundId, "SUCCESS");
    assert.deepEqual((await result(refundId, "SUCCESS")).body, first.body);
    for (const status of ["CLOSED", "ABNORMAL"]) {
      const answer = await result(refundId, status);
      assert.deepEqual([answer.status, answer.body.code], [409, "REFUND_STATE_CONFLICT"]);
      assert.equal(answer.body.conflict.status, "SUCCESS");
    }
    assert.equal((await result(refundId, "PROCESSING")).status, 400);
    assert.equal((await result("5000072611292158170000000133", "SUCCESS")).status, 400);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_PAID", "REFUND_CREATED", "REFUND_SUCCEEDED"]);
  });

  test("two refunds of sixty of a hundred at once: one succeeds, the other is told forty", async () => {
    for (let i = 0; i < 20; i++) {
      const { transaction_id: id } = await h.paid();
      const answers = await atOnce(2, () => h.api.refund(id, 60));
      assert.deepEqual(tally(answers), { "201": 1, "409 REFUND_AMOUNT_EXCEEDED": 1 });
      assert.equal(answers.find(({ status }) => status === 409)?.body.conflict.refundable, 40);
    }
  });

  test("twenty refunds of ten of a hundred at once: exactly ten succeed", async () => {
    for (let i = 0; i < 5; i++) {
      const { transaction_id: id } = await h.paid();
      const answers = await atOnce(20, () => h.api.refund(id, 10));
      assert.deepEqual(tally(answers), { "201": 10, "409 REFUND_AMOUNT_EXCEEDED": 10 });
      assert.equal((await amounts(id)).refunding, 100);
    }
  });

  test("the same refund from many callers at once is one refund", async () => {
    const { transaction_id: id } = await h.paid();
    const out_refund_no = freshNo("R");
    const answers = await atOnce(20, () => h.api.refund(id, 10, { out_refund_no }));
    assert.deepEqual(tally(answers), { "200": 19, "201": 1 });
    assert.equal((await amounts(id)).refunding, 10);
  });

  test("two different results at once: one is recorded", async () => {
    for (let i = 0; i < 20; i++) {
      const { transaction_id: id } = await h.paid();
      const { refund_id: refundId } = (await h.api.refund(id, 10)).body;
      const answers = await Promise.all([result(refundId, "SUCCESS"), result(refundId, "CLOSED")]);
      assert.deepEqual(tally(answers), { "200": 1, "409 REFUND_STATE_CONFLICT": 1 });
      const { refunded, refunding } = await amounts(id);
      assert.deepEqual([refunded + refunding === 0 || refunded === 10, refunding], [true, 0]);
    }
  });

  test("no order is over-refunded, whatever ran", async () => {
    assert.equal(await h.value("SELECT COUNT(*) FROM orders WHERE refunded + refunding > total"), 0);
    const mismatch = await h.value(
      `SELECT COUNT(*) FROM orders o WHERE o.refunded <> (SELECT COALESCE(SUM(refund), 0) FROM refunds r
         WHERE r.transaction_id = o.transaction_id AND r.status = 'SUCCESS')`,
    );
    assert.equal(mismatch, 0);
  });
});
