import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { mintTransactionId } from "../../core/order-number.ts";
import { stripeNo } from "../../core/ids.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { freshNo, OrdersApi } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

const REPLICA_CATCH_UP_MAX_MS = 10_000;

describe("reads", () => {
  let api: OrdersApi;
  before(async () => {
    api = new OrdersApi((await sharedCluster()).url);
  });

  test("a query answers from the primary and says so", async () => {
    const order = await api.created();
    const read = await api.order(order.transaction_id);
    assert.equal(read.headers["read-source"], "primary");
    assert.deepEqual(read.body, order);
  });

  test("read=replica answers from a replica, marked, with its lag in milliseconds", async () => {
    const order = await api.created();
    const limit = monotonicMs() + REPLICA_CATCH_UP_MAX_MS;
    for (;;) {
      const read = await api.get<{ transaction_id: string }>(`/v1/orders/${order.transaction_id}?read=replica`);
      if (read.status === 200) {
        assert.equal(read.headers["read-source"], "replica");
        assert.match(read.headers["read-lag-ms"] ?? "", /^\d+$/);
        assert.equal(read.body.transaction_id, order.transaction_id);
        return;
      }
      assert.equal(read.status, 404, "a replica may not have the order yet, nothing else");
      assert.ok(monotonicMs() < limit, "no replica has the order");
    }
  });

  test("one wrong digit in an order number is refused before any database is asked", async () => {
    const { transaction_id: id } = await api.created();
    for (let i = 0; i < id.length; i++) {
      const wrong = id.slice(0, i) + String((Number(id[i]) + 1) % 10) + id.slice(i + 1);
      const answer = await api.order(wrong);
      assert.deepEqual([answer.status, answer.body.code], [400, "PARAM_ERROR"], wrong);
    }
  });

  test("a valid number of a stripe that does not exist, or that was never issued, is 404", async () => {
    const unknownStripe = mintTransactionId(stripeNo(9999), Date.now(), 1);
    assert.equal((await api.order(unknownStripe)).body.code, "ORDER_NOT_EXIST");
    const neverIssued = mintTransactionId(stripeNo(1), Date.parse("2025-01-01T00:00:00Z"), 1);
    const answer = await api.order(neverIssued);
    assert.deepEqual([answer.status, answer.body.code], [404, "ORDER_NOT_EXIST"]);
    assert.equal((await api.pay(neverIssued)).status, 404);
    assert.equal((await api.close(neverIssued)).status, 404);
    assert.equal((await api.refund(neverIssued, 1)).status, 404);
  });

  test("a look-up by a merchant number nobody used is 404, and needs the merchant", async () => {
    const missing = await api.get(`/v1/orders/out-trade-no/${freshNo()}?mchid=test-merchant`);
    assert.deepEqual([missing.status, missing.body.code], [404, "ORDER_NOT_EXIST"]);
    const order = await api.created();
    const others = await api.get(`/v1/orders/out-trade-no/${order.out_trade_no}?mchid=another`);
    assert.equal(others.status, 404);
    assert.equal((await api.get(`/v1/orders/out-trade-no/${order.out_trade_no}`)).status, 400);
  });
});
