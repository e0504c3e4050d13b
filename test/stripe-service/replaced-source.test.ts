// A source that may have been replaced without knowing it: its newest acknowledged beat is old. What it has is so, what
// it lacks may exist on the one that leads now.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { StripeHarness } from "../support/stripe-harness.ts";

describe("a source whose beat is old", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start();
  });
  after(() => h[Symbol.asyncDispose]());

  const beat = (age: string): Promise<unknown> =>
    h.database.sql(`UPDATE ha.beat SET at = UTC_TIMESTAMP(6) - INTERVAL ${age}`);
  const told = ({ status, body }: { status: number; body: { code?: string } | null }): unknown[] => [
    status,
    body?.code,
  ];
  const UNKNOWN = [503, "STRIPE_UNAVAILABLE"];

  test("does not say that there is no order, payment or refund, and shows what it has, marked", async () => {
    const { transaction_id: id } = await h.created();
    const missing = String(h.wire().transaction_id);
    const asked = async (): Promise<unknown[][]> => [
      told(await h.api.get(`/orders/${missing}`)),
      told(await h.api.byHop("GET", `/orders/${missing}`)),
      told(await h.api.pay(missing)),
      told(await h.api.close(missing)),
      told(await h.api.refund(missing, 10)),
      told(await h.api.get(`/orders/${missing}/refunds`)),
      told(await h.api.get(`/orders/${missing}/history`)),
    ];
    assert.deepEqual(await asked(), Array(7).fill([404, "ORDER_NOT_EXIST"]));
    await beat("1 HOUR");
    assert.deepEqual(await asked(), Array(7).fill(UNKNOWN));
    const shown = await h.api.get(`/orders/${id}`);
    assert.deepEqual([shown.status, shown.headers["read-source"]], [200, "replica"]);
    assert.ok(Number(shown.headers["read-lag-ms"]) >= 3_600_000);
    await beat("-1 DAY");
    assert.equal((await h.api.get(`/orders/${id}`)).headers["read-source"], "primary");
  });

  test("refuses nothing for what it has not heard of, replays what it knows, and takes what it can commit", async () => {
    const { transaction_id: unpaid } = await h.created();
    const wire = h.wire();
    assert.equal((await h.api.post("/orders", wire)).status, 201);
    const { transaction_id: paid } = await h.created();
    const pay = { out_pay_no: "P1", amount: { total: 100, currency: "CNY" } };
    assert.equal((await h.api.post(`/orders/${paid}/pay`, pay)).status, 200);
    await beat("1 HOUR");
    assert.deepEqual(told(await h.api.refund(unpaid, 10)), UNKNOWN, "it may be paid where it is led now");
    assert.deepEqual(told(await h.api.refund(paid, 101)), UNKNOWN);
    assert.equal((await h.api.post("/orders", wire)).status, 200);
    assert.equal((await h.api.post(`/orders/${paid}/pay`, pay)).status, 200);
    assert.equal((await h.api.pay(unpaid)).status, 200, "a commit shows that it leads");
    await beat("-1 DAY");
    assert.deepEqual(told(await h.api.refund(paid, 101)), [409, "REFUND_AMOUNT_EXCEEDED"]);
  });

  test("takes no decision on orders that jumped, and does not say that a number is unknown", async () => {
    const { bucket, order } = h.wire() as { bucket: number; order: { mchid: string; out_trade_no: string } };
    const lookUp = (): ReturnType<typeof h.api.get> =>
      h.api.get(`/lookup?mchid=${order.mchid}&out_trade_no=${order.out_trade_no}&bucket=${bucket}&in=index`);
    const known = h.wire() as { transaction_id: string; request_hash: string; bucket: number; order: typeof order };
    assert.equal((await h.api.post("/orders", known)).status, 201);
    const { mchid, out_trade_no } = known.order;
    const other = { transaction_id: h.wire().transaction_id, request_hash: known.request_hash, bucket: known.bucket };
    const claim = (): ReturnType<typeof h.api.post> => h.api.post("/claims", { mchid, out_trade_no, ...other });
    assert.equal((await claim()).body.transaction_id, known.transaction_id);
    assert.deepEqual(told(await lookUp()), [404, "ORDER_NOT_EXIST"]);
    await beat("1 HOUR");
    assert.deepEqual(told(await lookUp()), UNKNOWN);
    assert.deepEqual(told(await claim()), UNKNOWN, "the pointer may be another one by now");
    await beat("-1 DAY");
  });
});
