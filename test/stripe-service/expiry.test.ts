import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "../../runtime/mysql.ts";
import { atOnce, StripeHarness, until } from "../support/stripe-harness.ts";

const SWEPT_MAX_MS = 6_000;

describe("expiry", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start({ instances: 2, env: { SWEEP_BATCH_MAX: "7" } });
  });
  after(() => h[Symbol.asyncDispose]());

  const expire = (ids: readonly string[]) =>
    h.database.sql("UPDATE orders SET time_expire = UTC_TIMESTAMP(3) WHERE transaction_id IN (?)", [ids]);
  const open = () =>
    h.value("SELECT COUNT(*) FROM orders WHERE trade_state = 'NOTPAY' AND time_expire <= UTC_TIMESTAMP(3)");

  test("unpaid orders past time_expire are closed once each by any instance; paid and unexpired ones stay", async () => {
    const orders = await atOnce(40, () => h.created());
    const ids = orders.map((order) => order.transaction_id);
    const [paid, later] = [await h.paid(), await h.created()];
    await expire([...ids, paid.transaction_id]);
    await until("all are closed", SWEPT_MAX_MS, async () => (await open()) === 0);
    for (const id of ids) {
      const { body } = await h.api.get(`/orders/${id}`);
      assert.deepEqual([body.trade_state, body.close_reason, body.version], ["CLOSED", "EXPIRED", 2]);
      assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_CLOSED"]);
    }
    assert.equal((await h.api.get(`/orders/${paid.transaction_id}`)).body.trade_state, "SUCCESS");
    assert.equal((await h.api.get(`/orders/${later.transaction_id}`)).body.trade_state, "NOTPAY");
  });

  test("an order that somebody holds is left out, and closed when it is free", async () => {
    const [held, free] = [await h.created(), await h.created()];
    const holder = await connect(h.database.target, 5_000);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [held.transaction_id]);
    await holder.query("UPDATE orders SET time_expire = UTC_TIMESTAMP(3) WHERE transaction_id = ?", [
      held.transaction_id,
    ]);
    await expire([free.transaction_id]);
    const state = async (id: string) => (await h.api.get(`/orders/${id}`)).body.trade_state;
    await until("the free one is closed", SWEPT_MAX_MS, async () => (await state(free.transaction_id)) === "CLOSED");
    assert.equal(await state(held.transaction_id), "NOTPAY");
    await holder.commit();
    await holder.end();
    await until("the held one is closed", SWEPT_MAX_MS, async () => (await state(held.transaction_id)) === "CLOSED");
  });

  test("payments that meet the sweep are either paid before or excess after, never both", async () => {
    const orders = await atOnce(60, () => h.created());
    const ids = orders.map((order) => order.transaction_id);
    await h.database.sql(
      "UPDATE orders SET time_expire = UTC_TIMESTAMP(3) + INTERVAL 1 SECOND WHERE transaction_id IN (?)",
      [ids],
    );
    let asked = 0;
    await until("every order has an end", SWEPT_MAX_MS, async () => {
      const batch = ids.slice(asked, asked + 2);
      asked += batch.length;
      await Promise.all(batch.map((id) => h.api.pay(id)));
      return asked >= ids.length && (await open()) === 0;
    });
    const rows = await h.database.sql(
      `SELECT o.trade_state AS state, (p.transaction_id IS NOT NULL) AS paid,
              (SELECT COUNT(*) FROM excess_payments e WHERE e.transaction_id = o.transaction_id) AS excess
         FROM orders o LEFT JOIN payments p ON p.transaction_id = o.transaction_id WHERE o.transaction_id IN (?)`,
      [ids],
    );
    assert.equal(rows.length, ids.length);
    for (const { state, paid, excess } of rows) {
      assert.deepEqual([paid, excess], state === "SUCCESS" ? [1, 0] : [0, 1]);
    }
  });

  test("a stripe that takes no writes closes nothing", async () => {
    const { transaction_id: id } = await h.created();
    const state = { accepts_creates: false, accepts_writes: false, routing_version: 1 };
    assert.equal((await h.api.call("PUT", "/stripe-state", state)).status, 200);
    await expire([id]);
    const failures = async (): Promise<number> => {
      const text = await (await fetch(`${h.api.url}/metrics`)).text();
      return Number(/^stripe_sweep_failures_total\{[^}]*\} (\d+)$/m.exec(text)?.[1]);
    };
    const before = await failures();
    await until("two sweeps were refused", SWEPT_MAX_MS, async () => (await failures()) >= before + 2);
    assert.equal((await h.api.get(`/orders/${id}`)).body.trade_state, "NOTPAY");
    await h.api.call("PUT", "/stripe-state", { ...state, accepts_writes: true });
    await until("it is closed", SWEPT_MAX_MS, async () => (await open()) === 0);
  });
});
