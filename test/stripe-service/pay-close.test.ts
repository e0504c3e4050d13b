import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { freshNo } from "../support/orders-api.ts";
import { atOnce, StripeHarness, tally } from "../support/stripe-harness.ts";

const ROUNDS = 200;
const PARALLEL = 20;
const CNY = { total: 100, currency: "CNY" };

describe("pay and close", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start({ env: { SWEEP_BATCHES_MAX: "0" } });
  });
  after(() => h[Symbol.asyncDispose]());

  const excessOf = (id: string) =>
    h.database.sql("SELECT out_pay_no, reason, total, currency FROM excess_payments WHERE transaction_id = ?", [id]);

  test("a payment makes the order SUCCESS with the channel's time, or the database's when it gave none", async () => {
    const { transaction_id: id } = await h.created();
    const given = await h.api.pay(id, { out_pay_no: "p1", success_time: "2026-11-29T10:00:00.1239+08:00" });
    assert.equal(given.status, 200);
    assert.equal(given.body.success_time, "2026-11-29T02:00:00.123Z");
    assert.equal(given.body.trade_state, "SUCCESS");
    assert.equal(given.body.payable, false);
    assert.equal(given.body.out_pay_no, "p1");
    assert.equal(given.body.version, 2);
    assert.equal(given.body.amount.refundable, 100);
    assert.deepEqual((await h.api.get(`/orders/${id}`)).body, given.body);
    const other = await h.paid();
    assert.match(other.success_time ?? "", /Z$/);
  });

  test("the largest amount is paid and read back to the unit, and one unit less is a mismatch", async () => {
    const amount = { total: Number.MAX_SAFE_INTEGER, currency: "CNY" };
    const { transaction_id: id } = await h.created({ amount });
    const less = await h.api.pay(id, { amount: { ...amount, total: Number.MAX_SAFE_INTEGER - 1 } });
    assert.equal(less.body.code, "AMOUNT_MISMATCH");
    const { status, body } = await h.api.pay(id, { amount });
    assert.deepEqual([status, body.amount.total, body.amount.refundable], [200, 2 ** 53 - 1, 2 ** 53 - 1]);
    const total = Number.MAX_SAFE_INTEGER;
    const refund = await h.api.refund(id, 1, { amount: { refund: total - 1, total, currency: "CNY" } });
    assert.equal(refund.status, 201);
    const more = await h.api.refund(id, 1, { amount: { refund: 2, total, currency: "CNY" } });
    assert.deepEqual([more.body.code, more.body.conflict], ["REFUND_AMOUNT_EXCEEDED", { refundable: 1 }]);
  });

  test("the same payment again is answered 200 and changes nothing; with other content it is refused", async () => {
    const { transaction_id: id } = await h.created();
    const pay = {
      out_pay_no: "p1",
      amount: CNY,
      channel: "bank",
      channel_transaction_id: "c1",
      payer: { openid: "me" },
    };
    const first = await h.api.pay(id, pay);
    assert.equal(first.status, 200);
    assert.deepEqual((await h.api.pay(id, pay)).body, first.body);
    const others = [
      [{ channel: "card" }, ["channel"]],
      [{ channel_transaction_id: "c2" }, ["channel_transaction_id"]],
      [{ payer: { openid: "you" } }, ["payer"]],
      [{ amount: { total: 99, currency: "USD" } }, ["amount.total", "amount.currency"]],
      [{ success_time: "2026-11-29T10:00:00Z" }, ["success_time"]],
    ] as const;
    for (const [other, fields] of others) {
      const { status, body } = await h.api.pay(id, { ...pay, ...other });
      assert.deepEqual([status, body.code], [409, "OUT_PAY_NO_USED"]);
      assert.deepEqual(body.order, first.body);
      assert.deepEqual(body.conflict, { fields });
    }
    assert.deepEqual(await excessOf(id), []);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_PAID"]);
  });

  test("a second payment is refused and recorded once as DUPLICATE, however often it comes", async () => {
    const { transaction_id: id } = await h.paid();
    const second = { out_pay_no: "second", amount: { total: 70, currency: "USD" } };
    for (let i = 0; i < 3; i++) {
      const { status, body } = await h.api.pay(id, second);
      assert.deepEqual([status, body.code], [409, "ORDER_PAID"]);
      assert.equal(body.order.trade_state, "SUCCESS");
      assert.equal(body.order.version, 2);
    }
    assert.deepEqual(await excessOf(id), [{ out_pay_no: "second", reason: "DUPLICATE", total: 70, currency: "USD" }]);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_PAID", "EXCESS_PAYMENT"]);
    const other = await h.api.pay(id, { ...second, amount: { total: 71, currency: "USD" } });
    assert.deepEqual([other.status, other.body.code], [409, "OUT_PAY_NO_USED"]);
    assert.deepEqual(other.body.conflict, { fields: ["amount.total"] });
    assert.equal((await excessOf(id)).length, 1);
  });

  test("a payment after the close is refused and recorded as LATE", async () => {
    const { transaction_id: id } = await h.created();
    await h.api.close(id);
    const { status, body } = await h.api.pay(id, { out_pay_no: "late" });
    assert.deepEqual([status, body.code, body.order.trade_state], [409, "ORDER_CLOSED", "CLOSED"]);
    assert.deepEqual(await excessOf(id), [{ out_pay_no: "late", reason: "LATE", total: 100, currency: "CNY" }]);
  });

  test("a payment after time_expire is refused before any sweep and recorded as LATE", async () => {
    const { transaction_id: id } = await h.created();
    await h.database.sql("UPDATE orders SET time_expire = UTC_TIMESTAMP(3) WHERE transaction_id = ?", [id]);
    const { status, body } = await h.api.pay(id, { out_pay_no: "late" });
    assert.deepEqual([status, body.code], [409, "ORDER_EXPIRED"]);
    assert.deepEqual([body.order.trade_state, body.order.payable], ["NOTPAY", false]);
    assert.deepEqual(
      (await excessOf(id)).map((row) => row.reason),
      ["LATE"],
    );
    // Shortly before it, it is payable.
    await h.database.sql(
      "UPDATE orders SET time_expire = UTC_TIMESTAMP(3) + INTERVAL 5 SECOND WHERE transaction_id = ?",
      [id],
    );
    assert.equal((await h.api.pay(id)).status, 200);
  });

  test("another amount or currency is a 400 and nothing is written", async () => {
    const { transaction_id: id } = await h.created();
    const amount = await h.api.pay(id, { amount: { total: 99, currency: "CNY" } });
    assert.deepEqual([amount.status, amount.body.code], [400, "AMOUNT_MISMATCH"]);
    const currency = await h.api.pay(id, { amount: { total: 100, currency: "USD" } });
    assert.deepEqual([currency.status, currency.body.code], [400, "CURRENCY_MISMATCH"]);
    assert.deepEqual(await excessOf(id), []);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED"]);
  });

  test("a close keeps its first time; a paid order is not closed", async () => {
    const { transaction_id: id } = await h.created();
    const first = await h.api.close(id);
    assert.deepEqual(
      [first.status, first.body.trade_state, first.body.close_reason, first.body.version],
      [200, "CLOSED", "MERCHANT", 2],
    );
    const again = await h.api.close(id);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, first.body);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_CLOSED"]);
    const paid = await h.paid();
    const refused = await h.api.close(paid.transaction_id);
    assert.deepEqual([refused.status, refused.body.code], [409, "ORDER_PAID"]);
    assert.deepEqual(refused.body.order, paid);
  });

  test("what does not exist is 404, what is not a number 400, another stripe's 421", async () => {
    const id = h.nextId();
    for (const answer of [
      await h.api.get(`/orders/${id}`),
      await h.api.pay(id),
      await h.api.close(id),
      await h.api.get(`/orders/${id}/history`),
      await h.api.get(`/orders/${id}/refunds`),
      await h.api.get(`/orders/${id}?read=replica`),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [404, "ORDER_NOT_EXIST"]);
    }
    assert.equal((await h.api.get(`/orders/${id.slice(0, 27)}0x`)).status, 400);
    assert.equal((await h.api.get("/orders/1000082611292158170000000795")).status, 400);
    assert.equal((await h.api.get("/orders/1000012611292158170000000718")).status, 421);
  });

  test("pay and close at once: one 200, one 409 with the order as it now is", async () => {
    const wins = { pay: 0, close: 0 };
    for (let i = 0; i < ROUNDS; i += PARALLEL) {
      await atOnce(PARALLEL, async () => {
        const { transaction_id: id } = await h.created();
        const [paid, closed] = await Promise.all([h.api.pay(id), h.api.close(id)]);
        const [winner, loser] = paid.status === 200 ? [paid, closed] : [closed, paid];
        assert.deepEqual([winner.status, loser.status], [200, 409]);
        assert.equal(loser.body.code, winner === paid ? "ORDER_PAID" : "ORDER_CLOSED");
        assert.deepEqual(loser.body.order, winner.body);
        wins[winner === paid ? "pay" : "close"] += 1;
      });
    }
    assert.equal(wins.pay + wins.close, ROUNDS);
  });

  test("two payments at once: one pays, the other is excess; the same one twice: one version step", async () => {
    for (let i = 0; i < 100; i += PARALLEL) {
      await atOnce(PARALLEL, async () => {
        const { transaction_id: id } = await h.created();
        assert.deepEqual(tally(await atOnce(2, () => h.api.pay(id))), { "200": 1, "409 ORDER_PAID": 1 });
        assert.equal((await excessOf(id)).length, 1);
        const same = await h.created();
        const out_pay_no = freshNo("P");
        const answers = await atOnce(3, () => h.api.pay(same.transaction_id, { out_pay_no }));
        assert.deepEqual(tally(answers), { "200": 3 });
        assert.deepEqual(
          answers.map(({ body }) => body.version),
          [2, 2, 2],
        );
        assert.deepEqual(await h.events(same.transaction_id), ["ORDER_CREATED", "ORDER_PAID"]);
      });
    }
  });

  test("the same second payment from many callers at once is recorded once", async () => {
    const { transaction_id: id } = await h.paid();
    assert.deepEqual(tally(await atOnce(20, () => h.api.pay(id, { out_pay_no: "second" }))), { "409 ORDER_PAID": 20 });
    assert.equal((await excessOf(id)).length, 1);
  });

  test("the history tells the order's life without the payer", async () => {
    const { transaction_id: id } = await h.created({ payer: { openid: "payer-1" } });
    await h.api.pay(id, { payer: { openid: "payer-2" } });
    await h.api.pay(id, { payer: { openid: "payer-3" } });
    const { body } = await h.api.get(`/orders/${id}/history`);
    assert.deepEqual(
      body.events.map((event: { event_type: string; version: number }) => [event.event_type, event.version]),
      [
        ["ORDER_CREATED", 1],
        ["ORDER_PAID", 2],
        ["EXCESS_PAYMENT", 2],
      ],
    );
    assert.equal(typeof body.events[0].seq, "string");
    assert.doesNotMatch(JSON.stringify(body), /payer-/);
  });
});
