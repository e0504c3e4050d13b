import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { createBody, freshNo, OrdersApi } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

describe("payments, closes and refunds", () => {
  let api: OrdersApi;
  before(async () => {
    api = new OrdersApi((await sharedCluster()).url);
  });

  test("a payment makes the order SUCCESS and the amount refundable; again with the same number it changes nothing", async () => {
    const { transaction_id: id } = await api.created();
    const body = {
      out_pay_no: freshNo("P"),
      amount: { total: 1999, currency: "CNY" },
      channel: "test",
      success_time: "2026-01-02T03:04:05.6789+08:00",
    };
    const paid = await api.post<Record<string, unknown>>(`/v1/orders/${id}/pay`, body);
    assert.equal(paid.status, 200);
    assert.equal(paid.body.trade_state, "SUCCESS");
    assert.equal(paid.body.payable, false);
    assert.equal(paid.body.success_time, "2026-01-01T19:04:05.678Z");
    assert.equal(paid.body.version, 2);
    const again = await api.post(`/v1/orders/${id}/pay`, body);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, paid.body);
  });

  test("the same payment number with other content is refused", async () => {
    const { transaction_id: id } = await api.created();
    const out_pay_no = freshNo("P");
    await api.pay(id, { out_pay_no, channel: "a" });
    const other = await api.pay(id, { out_pay_no, channel: "b" });
    assert.equal(other.status, 409);
    assert.equal(other.body.code, "OUT_PAY_NO_USED");
  });

  test("a payment of another amount or currency is refused and leaves the order as it was", async () => {
    const { transaction_id: id } = await api.created();
    const wrongTotal = await api.pay(id, { amount: { total: 1998, currency: "CNY" } });
    assert.deepEqual([wrongTotal.status, wrongTotal.body.code], [400, "AMOUNT_MISMATCH"]);
    const wrongCurrency = await api.pay(id, { amount: { total: 1999, currency: "USD" } });
    assert.deepEqual([wrongCurrency.status, wrongCurrency.body.code], [400, "CURRENCY_MISMATCH"]);
    assert.equal((await api.order(id)).body.version, 1);
  });

  test("a payment after CLOSED is refused, the order stays closed, and the money is recorded as LATE excess", async () => {
    const { transaction_id: id } = await api.created();
    const closed = await api.close(id);
    const out_pay_no = freshNo("P");
    const late = await api.pay(id, { out_pay_no });
    assert.deepEqual([late.status, late.body.code], [409, "ORDER_CLOSED"]);
    assert.deepEqual(late.body.order, closed.body);
    assert.equal((await api.pay(id, { out_pay_no })).status, 409);
    const excess = (await api.history(id)).filter((e) => e.event_type === "EXCESS_PAYMENT");
    assert.equal(excess.length, 1);
    assert.equal(excess[0]?.data.reason, "LATE");
    assert.equal((await api.order(id)).body.trade_state, "CLOSED");
  });

  test("closing again keeps the first close_time; a paid order is not closed", async () => {
    const { transaction_id: id } = await api.created();
    const first = await api.close(id);
    assert.deepEqual([first.status, first.body.trade_state, first.body.close_reason], [200, "CLOSED", "MERCHANT"]);
    const again = await api.close(id);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, first.body);
    const paid = await api.paidOrder();
    const refused = await api.close(paid.transaction_id);
    assert.deepEqual([refused.status, refused.body.code], [409, "ORDER_PAID"]);
    assert.equal(refused.body.order?.trade_state, "SUCCESS");
  });

  test("a refund is reserved at once, and the order is REFUND from the first refund that succeeds", async () => {
    const { transaction_id: id } = await api.paidOrder();
    const refund = await api.refund(id, 500, { reason: "缺货 🙇" });
    assert.deepEqual([refund.status, refund.body.status], [201, "PROCESSING"]);
    const reserved = (await api.order(id)).body;
    assert.equal(reserved.trade_state, "SUCCESS");
    assert.deepEqual([reserved.amount.refunding, reserved.amount.refundable], [500, 1499]);
    const done = await api.refundResult(refund.body.refund_id, "SUCCESS");
    assert.deepEqual([done.status, done.body.status, done.body.reason], [200, "SUCCESS", "缺货 🙇"]);
    assert.deepEqual((await api.refundResult(refund.body.refund_id, "SUCCESS")).body, done.body);
    const after = (await api.order(id)).body;
    assert.equal(after.trade_state, "REFUND");
    assert.deepEqual([after.amount.refunded, after.amount.refunding, after.amount.refundable], [500, 0, 1499]);
    const conflict = await api.refundResult(refund.body.refund_id, "CLOSED");
    assert.deepEqual([conflict.status, conflict.body.code], [409, "REFUND_STATE_CONFLICT"]);
  });

  test("ABNORMAL keeps the reservation, CLOSED gives it back", async () => {
    const { transaction_id: id } = await api.paidOrder();
    const { body } = await api.refund(id, 1999);
    await api.refundResult(body.refund_id, "ABNORMAL");
    assert.equal((await api.order(id)).body.amount.refundable, 0);
    assert.equal((await api.refund(id, 1)).body.code, "REFUND_AMOUNT_EXCEEDED");
    assert.equal((await api.refundResult(body.refund_id, "CLOSED")).status, 200);
    const order = (await api.order(id)).body;
    assert.deepEqual([order.amount.refundable, order.trade_state], [1999, "SUCCESS"]);
  });

  test("a refund sent again gives the same refund; with other content it is refused", async () => {
    const { transaction_id: id } = await api.paidOrder();
    const out_refund_no = freshNo("R");
    const first = await api.refund(id, 100, { out_refund_no });
    const again = await api.refund(id, 100, { out_refund_no });
    assert.deepEqual([again.status, again.headers["idempotent-replayed"]], [200, "true"]);
    assert.equal(again.body.refund_id, first.body.refund_id);
    const other = await api.refund(id, 101, { out_refund_no });
    assert.deepEqual([other.status, other.body.code], [409, "OUT_REFUND_NO_USED"]);
    const list = await api.get<{ refunds: { refund_id: string }[] }>(`/v1/orders/${id}/refunds`);
    assert.deepEqual(
      list.body.refunds.map((r) => r.refund_id),
      [first.body.refund_id],
    );
    assert.equal(
      (await api.get<{ refund_id: string }>(`/v1/refunds/${first.body.refund_id}`)).body.refund_id,
      first.body.refund_id,
    );
  });

  test("refunds of 0, −1, null or nothing, of an unpaid order, or with a wrong total are refused and reserve nothing", async () => {
    const { transaction_id: id } = await api.paidOrder();
    for (const refund of [0, -1, null, undefined]) {
      const answer = await api.refund(id, 1, { amount: { refund, total: 1999, currency: "CNY" } });
      assert.equal(answer.status, 400, String(refund));
    }
    assert.equal(
      (await api.refund(id, 1, { amount: { refund: 1, total: 2000, currency: "CNY" } })).body.code,
      "AMOUNT_MISMATCH",
    );
    assert.equal((await api.order(id)).body.amount.refunding, 0);
    const unpaid = await api.created();
    assert.equal((await api.refund(unpaid.transaction_id, 1)).body.code, "ORDER_NOT_PAID");
  });

  test("an order takes at most 50 refunds", async () => {
    const { transaction_id: id } = await api.paidOrder();
    for (let i = 0; i < 50; i++) assert.equal((await api.refund(id, 1)).status, 201);
    const refused = await api.refund(id, 1);
    assert.deepEqual([refused.status, refused.body.code], [409, "REFUND_COUNT_EXCEEDED"]);
  });

  test("every step is in the history, with its version, in order", async () => {
    const { transaction_id: id } = await api.paidOrder();
    const { body } = await api.refund(id, 5);
    await api.refundResult(body.refund_id, "SUCCESS");
    const events = await api.history(id);
    assert.deepEqual(
      events.map((e) => [e.event_type, e.version]),
      [
        ["ORDER_CREATED", 1],
        ["ORDER_PAID", 2],
        ["REFUND_CREATED", 3],
        ["REFUND_SUCCEEDED", 4],
      ],
    );
  });

  test("unpaid orders can no longer be paid from time_expire on, and are closed as EXPIRED", {
    timeout: 120_000,
  }, async () => {
    const time_expire = new Date(Date.now() + 61_500).toISOString();
    const orders = await Promise.all([...Array(30).keys()].map(() => api.created({ time_expire })));
    const inTime: number[] = [];
    await Promise.all(
      orders.map(async ({ transaction_id: id }, i) => {
        // Payments arrive on both sides of the boundary, 20 ms apart.
        await new Promise((resolve) => setTimeout(resolve, Date.parse(time_expire) - Date.now() + (i - 15) * 20));
        const paid = await api.pay(id);
        if (paid.status === 200) inTime.push(i);
        else assert.ok(["ORDER_EXPIRED", "ORDER_CLOSED"].includes(paid.body.code), JSON.stringify(paid.body));
      }),
    );
    let open = orders.length;
    while (open > 0) {
      const states = await Promise.all(
        orders.map(async ({ transaction_id }) => (await api.order(transaction_id)).body),
      );
      open = states.filter((o) => o.trade_state === "NOTPAY").length;
      for (const o of states) if (o.trade_state === "NOTPAY") assert.equal(o.payable, false);
      for (const [i, o] of states.entries()) {
        if (inTime.includes(i)) assert.equal(o.trade_state, "SUCCESS");
        else if (o.trade_state !== "NOTPAY") assert.equal(o.close_reason, "EXPIRED");
      }
    }
    assert.ok(inTime.length > 0 && inTime.length < orders.length);
  });

  test("a create sent again long after the order was paid still answers that order", async () => {
    const body = createBody();
    const first = await api.post<{ transaction_id: string }>("/v1/orders", body);
    await api.pay(first.body.transaction_id);
    const again = await api.post<{ transaction_id: string; trade_state: string }>("/v1/orders", body);
    assert.equal(again.status, 200);
    assert.deepEqual([again.body.transaction_id, again.body.trade_state], [first.body.transaction_id, "SUCCESS"]);
  });
});
