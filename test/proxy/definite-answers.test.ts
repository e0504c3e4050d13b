// What a proxy says for certain must be so, also when stripes, or its own table, are not what they were.
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../support/orders-api.ts";
import { numberAt, type Stack, stripeIn, withStack } from "./support/stack.ts";

process.env.LOG_LEVEL ??= "silent";

const CREATE = /POST \/internal\/v1\/orders$/;

let stack: Stack;
withStack((started) => {
  stack = started;
});

test("a proxy with an old table does not say that a number is unknown: the order may be on a stripe that it lacks", async () => {
  const without = await stack.route(3, { partition_name: "spare" });
  const old = await stack.proxy();
  await old.routed(without);
  await old.stop();
  // The control database is away for this one: it serves by the copy on its disk.
  const stale = await stack.proxy({ cacheFile: old.cacheFile, control: { ...stack.control, port: 1 } });
  const version = await stack.route(3, { partition_name: "standard" });
  const fresh = await stack.proxy();
  await fresh.routed(version);
  await atOnce(9, () => fresh.api.created());
  const no = numberAt(1);
  for (const stripe of [1, 2]) await stack.link(stripe).refuse();
  const created = await fresh.api.create({ out_trade_no: no });
  assert.equal(stripeIn(created.body.transaction_id), 3);
  await stack.heal();
  const byNumber = `/v1/orders/out-trade-no/${no}?mchid=test-merchant`;
  assert.equal((await fresh.api.get(byNumber)).status, 200);
  const { status, body } = await stale.api.get<{ code?: string }>(byNumber);
  assert.deepEqual([status, body.code], [503, "STRIPE_UNAVAILABLE"]);
  await fresh.stop();
  await stale.stop();
});

test("a create whose first try was taken unheard is not refused for a time that has run out since", async () => {
  const proxy = await stack.proxy();
  await atOnce(9, () => proxy.api.created());
  const no = numberAt(1);
  stack.link(1).inject({ kind: "drop-answer" }, CREATE);
  for (const stripe of [2, 3]) stack.link(stripe).inject({ kind: "delay", ms: 500 }, CREATE);
  const expire = new Date(Date.now() + 60_350).toISOString(); // a minute ahead is the least that is allowed
  const { status, body } = await proxy.api.create({ out_trade_no: no, time_expire: expire });
  await stack.heal();
  const found = await proxy.api.get<{ trade_state?: string }>(`/v1/orders/out-trade-no/${no}?mchid=test-merchant`);
  assert.deepEqual([found.status, found.body.trade_state], [200, "NOTPAY"], "it was taken");
  assert.deepEqual([status, body.code, body.retryable], [503, "NOT_DURABLE", true]);
  await proxy.stop();
});

test("an order that gave way is not shown for its number while the one that stands cannot be read", async () => {
  const proxy = await stack.proxy();
  await atOnce(9, () => proxy.api.created());
  const no = numberAt(1);
  const { transaction_id: first } = await proxy.api.created({ out_trade_no: no });
  assert.equal((await proxy.api.pay(first)).status, 200);
  await stack.link(1).refuse();
  const { transaction_id: second } = await proxy.api.created({ out_trade_no: no });
  const there = stack.databases.get(stripeIn(second));
  assert.ok(there);
  // As the resolver leaves it: the home's order is paid, the one that jumped gives way.
  await there.sql(
    "UPDATE orders SET trade_state = 'CLOSED', close_reason = 'DUPLICATE', superseded_by = ?, close_time = UTC_TIMESTAMP(3), " +
      "version = 2 WHERE transaction_id = ?",
    [first, second],
  );
  await there.sql("UPDATE handoffs SET state = 'DONE' WHERE transaction_id = ?", [second]);
  const byNumber = `/v1/orders/out-trade-no/${no}?mchid=test-merchant`;
  type Problem = { code?: string; conflict?: { transaction_id?: string } };
  for (const answer of [await proxy.api.create({ out_trade_no: no }), await proxy.api.get<Problem>(byNumber)]) {
    const { code, conflict } = answer.body as Problem;
    assert.deepEqual([answer.status, code, conflict?.transaction_id], [503, "STRIPE_UNAVAILABLE", first]);
  }
  const own = await proxy.api.order(second);
  assert.deepEqual([own.status, own.body.superseded_by], [200, first], "by its own number it is shown as it is");
  await stack.heal();
  assert.equal((await proxy.api.create({ out_trade_no: no })).body.transaction_id, first);
  await proxy.stop();
});
