import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { atOnce, freshNo, OrdersApi } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

const ROUNDS = 200;
const PARALLEL = 20;

describe("races", () => {
  let api: OrdersApi;
  before(async () => {
    api = new OrdersApi((await sharedCluster()).url);
  });

  async function rounds(one: () => Promise<void>): Promise<void> {
    for (let i = 0; i < ROUNDS; i += PARALLEL) await atOnce(PARALLEL, one);
  }

  test("pay and close at once: always one 200 and one 409 that carries the order as it now is", async () => {
    const wins = { pay: 0, close: 0 };
    await rounds(async () => {
      const { transaction_id: id } = await api.created();
      const [paid, closed] = await Promise.all([api.pay(id), api.close(id)]);
      const [winner, loser, code] =
        paid.status === 200 ? ([paid, closed, "ORDER_PAID"] as const) : ([closed, paid, "ORDER_CLOSED"] as const);
      assert.equal(winner.status, 200, JSON.stringify([paid.body, closed.body]));
      assert.equal(loser.status, 409, JSON.stringify([paid.body, closed.body]));
      assert.equal(loser.body.code, code);
      assert.deepEqual(loser.body.order, (await api.order(id)).body);
      wins[winner === paid ? "pay" : "close"] += 1;
    });
    assert.equal(wins.pay + wins.close, ROUNDS);
  });

  test("two payments at once: one is the payment, the other is refused and recorded as excess", async () => {
    await rounds(async () => {
      const { transaction_id: id } = await api.created();
      const [a, b] = await Promise.all([api.pay(id), api.pay(id)]);
      assert.deepEqual(
        [a.status, b.status].sort((x, y) => x - y),
        [200, 409],
      );
      const [winner, loser] = a.status === 200 ? [a, b] : [b, a];
      assert.equal(loser.body.code, "ORDER_PAID");
      assert.equal(loser.body.order?.out_pay_no, winner.body.out_pay_no);
      const events = (await api.history(id)).map((e) => e.event_type);
      assert.deepEqual(events, ["ORDER_CREATED", "ORDER_PAID", "EXCESS_PAYMENT"]);
    });
  });

  test("the same payment from two callers at once: both 200, one version step, one event", async () => {
    for (let i = 0; i < 20; i++) {
      const { transaction_id: id } = await api.created();
      const out_pay_no = freshNo("P");
      const answers = await atOnce(4, () => api.pay(id, { out_pay_no }));
      assert.deepEqual(
        answers.map((a) => a.status),
        [200, 200, 200, 200],
      );
      assert.deepEqual([...new Set(answers.map((a) => a.body.version))], [2]);
      assert.deepEqual(
        (await api.history(id)).map((e) => e.event_type),
        ["ORDER_CREATED", "ORDER_PAID"],
      );
    }
  });

  test("two refunds of 60 on 100 at once: one 201, one 409 that says 40 can be refunded", async () => {
    for (let i = 0; i < 20; i++) {
      const { transaction_id: id } = await api.paidOrder(100);
      const amount = { refund: 60, total: 100, currency: "CNY" };
      const answers = await atOnce(2, () => api.refund(id, 60, { amount }));
      assert.deepEqual(
        answers.map((a) => a.status).sort((x, y) => x - y),
        [201, 409],
      );
      const refused = answers.find((a) => a.status === 409);
      assert.equal(refused?.body.code, "REFUND_AMOUNT_EXCEEDED");
      assert.equal(refused?.body.conflict?.refundable, 40);
    }
  });

  test("20 refunds of 10 on 100 at once: exactly 10 succeed, and nothing is left to refund", async () => {
    const { transaction_id: id } = await api.paidOrder(100);
    const answers = await atOnce(20, () => api.refund(id, 10, { amount: { refund: 10, total: 100, currency: "CNY" } }));
    assert.equal(answers.filter((a) => a.status === 201).length, 10);
    assert.equal(answers.filter((a) => a.status === 409).length, 10);
    const { amount } = (await api.order(id)).body;
    assert.deepEqual([amount.refunding, amount.refunded, amount.refundable], [100, 0, 0]);
  });

  test("the same refund from five callers at once: one refund", async () => {
    const { transaction_id: id } = await api.paidOrder();
    const out_refund_no = freshNo("R");
    const answers = await atOnce(5, () => api.refund(id, 500, { out_refund_no }));
    assert.equal(answers.filter((a) => a.status === 201).length, 1);
    assert.equal(answers.filter((a) => a.status === 200).length, 4);
    assert.equal(new Set(answers.map((a) => a.body.refund_id)).size, 1);
    assert.equal((await api.order(id)).body.amount.refunding, 500);
  });
});
