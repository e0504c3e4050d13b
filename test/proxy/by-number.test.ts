import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { problem } from "../../core/problem.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { atOnce, type OrdersApi } from "../support/orders-api.ts";
import { type Fault, Link } from "./support/link.ts";
import { numberAt, type RunningProxy, type Stack, startStack, stripeIn, STRIPES, until } from "./support/stack.ts";

const ANSWER_MAX_MS = 3_000 + 700;
/** Clearly less than a wait for the deadline, and enough for a machine that is busy with other things. */
const AT_ONCE_MS = 2_000;

let stack: Stack;
let proxy: RunningProxy;
let api: OrdersApi;
before(async () => {
  stack = await startStack();
});
after(() => stack[Symbol.asyncDispose]());
beforeEach(async () => {
  await proxy?.stop();
  await stack.heal();
  proxy = await stack.proxy();
  api = proxy.api;
});

function says(code: ErrorCode, status: number, more: object = {}): Fault {
  return { kind: "answer", status, body: { ...problem(code, "injected", "/internal", "r"), ...more } };
}

async function orderAt(stripe: number): Promise<string> {
  const order = await api.created({ out_trade_no: numberAt(stripe) });
  assert.equal(stripeIn(order.transaction_id), stripe);
  return order.transaction_id;
}

async function paymentsOf(stripe: number, id: string): Promise<number> {
  const rows = await stack.databases.get(stripe)?.sql("SELECT 1 FROM payments WHERE transaction_id = ?", [id]);
  return rows?.length ?? 0;
}

describe("pay, query, close and refund go to the stripe in the number and nowhere else", () => {
  test("the whole life of an order touches one stripe", async () => {
    const id = await orderAt(2);
    await stack.heal();
    assert.equal((await api.order(id)).status, 200);
    assert.equal((await api.pay(id, { out_pay_no: "P1" })).body.trade_state, "SUCCESS");
    const again = await api.pay(id, { out_pay_no: "P1" });
    assert.deepEqual([again.status, again.headers["idempotent-replayed"], again.body.version], [200, "true", 2]);
    const refund = await api.refund(id, 60);
    assert.equal(refund.status, 201);
    assert.equal((await api.refundResult(refund.body.refund_id, "SUCCESS")).body.status, "SUCCESS");
    assert.equal((await api.get<{ refunds: object[] }>(`/v1/orders/${id}/refunds`)).body.refunds.length, 1);
    assert.equal((await api.get(`/v1/refunds/${refund.body.refund_id}`)).status, 200);
    assert.ok((await api.history(id)).length >= 3);
    assert.equal((await api.close(id)).body.code, "ORDER_PAID");
    for (const other of [1, 3])
      assert.deepEqual(
        stack.link(other).seen.filter((s) => !s.path.includes("sequence")),
        [],
      );
  });

  test("the service's refusal is passed on with the order, under the merchant's path and request id", async () => {
    const id = await orderAt(1);
    await api.close(id);
    const answer = await api.post(
      `/v1/orders/${id}/pay`,
      { out_pay_no: "P", amount: { total: 1999, currency: "CNY" } },
      {
        "request-id": "mine",
      },
    );
    assert.deepEqual([answer.status, answer.body.code, answer.body.request_id], [409, "ORDER_CLOSED", "mine"]);
    assert.equal(answer.body.order?.trade_state, "CLOSED");
    assert.equal((answer.body as unknown as { instance: string }).instance, `/v1/orders/${id}/pay`);
  });

  test("a stale read is passed on with its source and lag", async () => {
    const id = await orderAt(1);
    const answer = await api.get(`/v1/orders/${id}?read=replica`);
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers["read-source"]), /^(primary|replica)$/);
    assert.ok(stack.link(1).seen.some(({ path }) => path.endsWith(`${id}?read=replica`)));
  });
});

describe("one instance of a stripe is away", () => {
  async function withTwo(work: (bad: Link) => Promise<void>): Promise<void> {
    const bad = await new Link(stack.link(1).target).open();
    try {
      await proxy.routed(await stack.route(1, { services: JSON.stringify([bad.url, stack.link(1).url]) }));
      await work(bad);
    } finally {
      await bad[Symbol.asyncDispose]();
      await proxy.routed(await stack.route(1, { services: JSON.stringify([stack.link(1).url]) }));
    }
  }

  test("refused connections go unnoticed", async () => {
    await withTwo(async (bad) => {
      const id = await orderAt(1);
      await bad.refuse();
      for (let i = 0; i < 10; i++) assert.equal((await api.order(id)).status, 200);
      assert.equal((await api.pay(id)).status, 200);
    });
  });

  test("an answer that is lost after the work is asked for again, and the payment exists once", async () => {
    await withTwo(async (bad) => {
      bad.inject({ kind: "drop-answer" }, /\/pay$/);
      for (let i = 0; i < 4; i++) {
        const id = await orderAt(1);
        assert.equal((await api.pay(id)).status, 200);
        assert.equal(await paymentsOf(1, id), 1);
      }
      assert.ok(bad.seen.some(({ path }) => path.endsWith("/pay")));
    });
  });

  test("a frozen instance delays at most one try, and is avoided after it", async () => {
    await withTwo(async (bad) => {
      const patient = await stack.proxy({ limits: { instanceAvoidMs: 60_000 } });
      const id = await orderAt(1);
      bad.inject({ kind: "hang" });
      for (let i = 0; i < 6; i++) assert.equal((await patient.api.order(id)).status, 200);
      assert.equal(bad.seen.filter(({ method }) => method === "GET").length, 1);
      await patient.stop();
    });
  });
});

describe("the stripe is away", () => {
  test("refused connections: 503 STRIPE_UNAVAILABLE at once, retry safe", async () => {
    const id = await orderAt(1);
    await stack.link(1).refuse();
    const start = monotonicMs();
    for (const answer of [await api.order(id), await api.pay(id), await api.close(id), await api.refund(id, 1)]) {
      assert.deepEqual([answer.status, answer.body.code, answer.body.retryable], [503, "STRIPE_UNAVAILABLE", true]);
      assert.equal(answer.headers["retry-after"], "1");
    }
    assert.ok(monotonicMs() - start < AT_ONCE_MS);
    assert.equal(await paymentsOf(1, id), 0);
  });

  test("no answer: 504 TIMEOUT within the deadline", async () => {
    const id = await orderAt(1);
    stack.link(1).inject({ kind: "hang" });
    const start = monotonicMs();
    const answers = await Promise.all([api.order(id), api.pay(id), api.refund(id, 1)]);
    for (const { status, body } of answers)
      assert.deepEqual([status, body.code, body.retryable], [504, "TIMEOUT", true]);
    assert.ok(monotonicMs() - start < ANSWER_MAX_MS);
  });

  test("a payment whose answer is lost every time: NOT_DURABLE, and the retry is recognised", async () => {
    const id = await orderAt(1);
    stack.link(1).inject({ kind: "drop-answer" }, /\/pay$/);
    const pay = { out_pay_no: "P-lost" };
    const lost = await api.pay(id, pay);
    assert.deepEqual([lost.status, lost.body.code, lost.body.retryable], [503, "NOT_DURABLE", true]);
    await stack.heal();
    assert.equal((await api.pay(id, pay)).status, 200);
    assert.equal(await paymentsOf(1, id), 1);
  });

  test("a refusal after a lost answer does not claim that nothing was written", async () => {
    const id = await orderAt(1);
    stack.link(1).inject({ kind: "drop-answer" }, /\/pay$/, 1);
    stack.link(1).inject(says("STRIPE_READ_ONLY", 503), /\/pay$/);
    assert.equal((await api.pay(id)).body.code, "NOT_DURABLE");
  });

  test("other stripes never notice", async () => {
    const ids = await Promise.all([orderAt(2), orderAt(3)]);
    stack.link(1).inject({ kind: "hang" });
    const stuck = orderAt(2).then(() => undefined);
    for (const id of ids) assert.equal((await api.pay(id)).status, 200);
    await stuck;
  });

  test("a query is asked again elsewhere after a lost connection, rubbish is an honest 500 without a word of it", async () => {
    const id = await orderAt(1);
    stack.link(1).inject({ kind: "reset" }, /GET/, 1);
    assert.equal((await api.order(id)).status, 200);
    stack
      .link(1)
      .inject({ kind: "answer", status: 500, body: { error: "SELECT * FROM orders at Object.<anonymous>" } });
    const answer = await api.order(id);
    assert.deepEqual([answer.status, answer.body.code], [500, "SYSTEM_ERROR"]);
    assert.doesNotMatch(JSON.stringify(answer.body), /SELECT|anonymous/);
  });
});

describe("421", () => {
  test("the table is refreshed and the request retried once at the stripe's new address", async () => {
    const id = await orderAt(1);
    const slow = await stack.proxy({ limits: { routingPollMs: 60_000 } });
    const moved = await new Link(stack.link(1).target).open();
    try {
      stack.link(1).inject(says("MISDIRECTED", 421, { routing_version: 1_000 }));
      await stack.route(1, { services: JSON.stringify([moved.url]) });
      assert.equal((await slow.api.pay(id)).status, 200);
      assert.equal((await slow.api.order(id)).status, 200);
      assert.equal(await slow.metric("proxy_misdirected_total"), 1);
    } finally {
      await stack.route(1, { services: JSON.stringify([stack.link(1).url]) });
      await moved[Symbol.asyncDispose]();
      await slow.stop();
    }
  });

  test("a merchant never sees it: when it stays, 503 STRIPE_UNAVAILABLE", async () => {
    const id = await orderAt(1);
    stack.link(1).inject(says("MISDIRECTED", 421));
    for (const answer of [await api.order(id), await api.pay(id)]) {
      assert.deepEqual([answer.status, answer.body.code], [503, "STRIPE_UNAVAILABLE"]);
    }
  });
});

describe("overload", () => {
  test("more calls than a stripe may have in flight are refused at once, other stripes are not touched", async () => {
    const id = await orderAt(1);
    const other = await orderAt(2);
    const narrow = await stack.proxy({ limits: { stripeInFlightMax: 3 } });
    stack.link(1).inject({ kind: "hang" }, /\/pay$/);
    const stuck = atOnce(3, () => narrow.api.pay(id));
    await until(async () => stack.link(1).seen.filter(({ path }) => path.endsWith("/pay")).length === 3, "in flight");
    const start = monotonicMs();
    const answer = await narrow.api.order(id);
    assert.deepEqual([answer.status, answer.body.code, answer.headers["retry-after"]], [503, "OVERLOADED", "1"]);
    assert.ok(monotonicMs() - start < AT_ONCE_MS);
    assert.equal((await narrow.api.order(other)).status, 200);
    await stack.link(1).refuse();
    await stuck;
    await narrow.stop();
  });

  test("more requests than the proxy may have in flight are refused at once", async () => {
    const id = await orderAt(1);
    const narrow = await stack.proxy({ limits: { requestsInFlightMax: 2, stripeInFlightMax: 2 } });
    stack.link(1).inject({ kind: "hang" }, /\/pay$/);
    const stuck = atOnce(2, () => narrow.api.pay(id));
    await until(async () => stack.link(1).seen.filter(({ path }) => path.endsWith("/pay")).length === 2, "in flight");
    const answer = await narrow.api.order(await orderAt(2));
    assert.deepEqual([answer.status, answer.body.code], [503, "OVERLOADED"]);
    assert.equal((await narrow.api.get("/healthz")).status, 200);
    await stack.link(1).refuse();
    await stuck;
    await narrow.stop();
  });
});

describe("look-up by merchant number", () => {
  const path = (no: string): string => `/v1/orders/out-trade-no/${no}?mchid=test-merchant`;

  test("an order at home is found by asking its home alone", async () => {
    const no = numberAt(1);
    const order = await api.created({ out_trade_no: no });
    for (const other of [2, 3]) await stack.link(other).refuse();
    const found = await api.get<{ transaction_id: string }>(path(no));
    assert.deepEqual([found.status, found.body.transaction_id], [200, order.transaction_id]);
    assert.equal(await proxy.metric("proxy_lookup_stripes_sum"), 1);
  });

  test("an order that jumped is found while its home is away, and after it is back", async () => {
    const no = numberAt(1);
    await stack.link(1).refuse();
    const order = await api.created({ out_trade_no: no });
    const away = await api.get<{ transaction_id: string }>(path(no));
    assert.deepEqual([away.status, away.body.transaction_id], [200, order.transaction_id]);
    await stack.heal();
    const back = await api.get<{ transaction_id: string }>(path(no));
    assert.deepEqual([back.status, back.body.transaction_id], [200, order.transaction_id]);
  });

  test("404 only when every stripe has said no; with one away it is 503", async () => {
    const no = numberAt(2);
    const missing = await api.get(path(no));
    assert.deepEqual([missing.status, missing.body.code], [404, "ORDER_NOT_EXIST"]);
    for (const away of STRIPES) {
      await stack.heal();
      await stack.link(away).refuse();
      const unsure = await api.get(path(no));
      assert.deepEqual([unsure.status, unsure.body.code], [503, "STRIPE_UNAVAILABLE"], `stripe ${away} away`);
    }
    await stack.heal();
    stack.link(1).inject(says("NOT_DURABLE", 503), /lookup/);
    assert.equal((await api.get(path(no))).status, 503);
  });

  test("of several undelivered orders a paid one is shown", async () => {
    const no = numberAt(1);
    await stack.link(1).refuse();
    const first = await api.created({ out_trade_no: no });
    await stack.link(stripeIn(first.transaction_id)).refuse();
    const second = await api.created({ out_trade_no: no });
    assert.notEqual(first.transaction_id, second.transaction_id);
    for (const stripe of [2, 3]) await stack.link(stripe).heal();
    assert.equal((await api.get<{ transaction_id: string }>(path(no))).body.transaction_id, first.transaction_id);
    assert.equal((await api.pay(second.transaction_id)).status, 200);
    assert.equal((await api.get<{ transaction_id: string }>(path(no))).body.transaction_id, second.transaction_id);
  });

  test("the pointer's stripe is away: 503 naming the order", async () => {
    const no = numberAt(1);
    const order = await api.created({ out_trade_no: no });
    const elsewhere = await orderAt(2);
    await stack.databases
      .get(1)
      ?.sql("UPDATE merchant_orders SET transaction_id = ? WHERE transaction_id = ?", [
        elsewhere,
        order.transaction_id,
      ]);
    assert.equal((await api.get<{ transaction_id: string }>(path(no))).body.transaction_id, elsewhere);
    await stack.link(2).refuse();
    const answer = await api.get(path(no));
    assert.deepEqual([answer.status, answer.body.conflict], [503, { transaction_id: elsewhere }]);
  });
});

describe("superseded orders", () => {
  async function chain(): Promise<[string, string, string]> {
    const [a, b, c] = [await orderAt(1), await orderAt(2), await orderAt(3)];
    const supersede = (stripe: number, id: string, by: string): Promise<unknown> | undefined =>
      stack.databases.get(stripe)?.sql("UPDATE orders SET superseded_by = ? WHERE transaction_id = ?", [by, id]);
    await supersede(1, a, b);
    await supersede(2, b, c);
    return [a, b, c];
  }

  test("a query shows the order itself and the end of its chain", async () => {
    const [a, b, c] = await chain();
    const { body } = await api.order(a);
    assert.deepEqual([body.transaction_id, body.superseded_by], [a, c]);
    await stack.link(3).refuse();
    assert.equal((await api.order(a)).body.superseded_by, c);
    await stack.link(2).refuse();
    assert.equal((await api.order(a)).body.superseded_by, b, "the stored value, when the chain cannot be followed");
  });

  test("a look-up and a retried create show the order that stands", async () => {
    const [a, , c] = await chain();
    const { out_trade_no: no } = (await api.order(a)).body;
    const found = await api.get<{ transaction_id: string }>(`/v1/orders/out-trade-no/${no}?mchid=test-merchant`);
    assert.equal(found.body.transaction_id, c);
    const again = await api.create({ out_trade_no: no });
    assert.deepEqual([again.status, again.body.transaction_id], [200, c]);
  });
});
