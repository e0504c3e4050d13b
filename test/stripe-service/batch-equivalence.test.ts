import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { DomainError } from "../../core/errors.ts";
import { TRADE_TRANSITIONS } from "../../core/order-states.ts";
import { Deadline } from "../../runtime/clock.ts";
import type { OrderOperation } from "../../stripe-service/batch/operations.ts";
import { configFrom } from "../../stripe-service/config.ts";
import { Database } from "../../stripe-service/database.ts";
import { atOnce, StripeHarness } from "../support/stripe-harness.ts";

const ROUNDS = 25;
const OPERATIONS_MAX = 30;
const ORDERS = 3;
const DEADLINE_MS = 10_000;
const CNY = { total: 100, currency: "CNY" };

/** An operation before its order has a number. */
interface Drawn {
  readonly order: number;
  readonly kind: "pay" | "close" | "refund" | "refund-result";
  readonly no: number;
  readonly amount: number;
  readonly status: "SUCCESS" | "CLOSED" | "ABNORMAL";
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  order: fc.integer({ min: 0, max: ORDERS - 1 }),
  kind: fc.constantFrom("pay", "pay", "close", "refund", "refund", "refund-result"),
  no: fc.integer({ min: 1, max: 4 }),
  amount: fc.constantFrom(100, 100, 100, 60, 40, 99),
  status: fc.constantFrom("SUCCESS", "CLOSED", "ABNORMAL"),
});

describe("operations of one transaction and operations one by one", () => {
  let h: StripeHarness;
  let database: Database;
  let refundSequence = 0;
  before(async () => {
    h = await StripeHarness.start({ env: { SWEEP_BATCHES_MAX: "0" } });
    const limits = { BATCH_FLUSHERS: "1", DB_DEADLINE_MS: "20000", POOL_QUEUE_WAIT_MS: "15000", LOCK_WAIT_S: "10" };
    database = new Database(configFrom(h.env(1, limits)));
  });
  after(async () => {
    await database.close();
    await h[Symbol.asyncDispose]();
  });

  /** Orders of which the second has a refund that results can be for, and the third is closed. */
  async function prepare(): Promise<{ ids: string[]; refundId: string }> {
    const orders = await atOnce(ORDERS, () => h.created());
    const ids = orders.map(({ transaction_id: id }) => id);
    await h.api.pay(ids[1] ?? "", { out_pay_no: "p1" });
    const refund = await h.api.refund(ids[1] ?? "", 10, { out_refund_no: "r0" });
    await h.api.close(ids[2] ?? "");
    return { ids, refundId: refund.body.refund_id };
  }

  function operation({ order, kind, no, amount, status }: Drawn, ids: string[], refundId: string): OrderOperation {
    const transactionId = ids[order] ?? "";
    switch (kind) {
      case "pay":
        return { kind, transactionId, pay: { out_pay_no: `p${no}`, amount: { total: amount, currency: "CNY" } } };
      case "close":
        return { kind, transactionId };
      case "refund":
        refundSequence += 1;
        return {
          kind,
          transactionId,
          refundId: `5000070101010000${String(refundSequence).padStart(12, "0")}`,
          refund: { out_refund_no: `r${no}`, amount: { refund: amount, ...CNY } },
        };
      case "refund-result":
        return { kind, refundId, status };
    }
  }

  async function tell(op: OrderOperation): Promise<unknown> {
    const outcome = await database.groupCommit.run(new Deadline(DEADLINE_MS), op).catch((error: unknown) => {
      if (error instanceof DomainError) return { ok: false as const, error };
      throw error;
    });
    if (!outcome.ok) return [outcome.error.code, outcome.error.extras];
    return outcome.value;
  }

  /** What is stored of the orders, without what differs by nature: numbers and times. */
  async function stored(ids: string[]): Promise<unknown> {
    const tables = [
      "SELECT trade_state, close_reason, out_pay_no, refunded, refunding, refund_count, version FROM orders",
      "SELECT out_pay_no, total, currency FROM payments",
      "SELECT out_pay_no, reason, total, currency FROM excess_payments",
      "SELECT out_refund_no, refund, status, version FROM refunds",
      "SELECT event_type, version FROM order_events",
    ];
    return Promise.all(
      ids.flatMap((id) =>
        tables.map(async (sql) => {
          const order = sql.includes("order_events") ? "seq" : "1";
          return h.database.sql(`${sql} WHERE transaction_id = ? ORDER BY ${order}`, [id]);
        }),
      ),
    );
  }

  /** Replaces numbers and times by their order of appearance. */
  function anonymous(value: unknown): unknown {
    const names = new Map<string, string>();
    const text = JSON.stringify(value).replaceAll(/"(?:[15]0\d{26}|T-[^"]*|\d{4}-[^"]*Z)"/g, (found) => {
      if (found.endsWith('Z"')) return '"time"';
      if (!names.has(found)) names.set(found, `"#${names.size}"`);
      return names.get(found) ?? "";
    });
    return JSON.parse(text);
  }

  test("give the same answers and leave the same rows", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 2, maxLength: OPERATIONS_MAX }), async (draws) => {
        const [one, other] = [await prepare(), await prepare()];
        const together = await Promise.all(draws.map((d) => tell(operation(d, one.ids, one.refundId))));
        const inTurn: unknown[] = [];
        for (const d of draws) inTurn.push(await tell(operation(d, other.ids, other.refundId)));
        assert.deepEqual(anonymous(together), anonymous(inTurn));
        assert.deepEqual(await stored(one.ids), await stored(other.ids));
      }),
      { numRuns: ROUNDS },
    );
  });

  test("never refund more than the total, never close a paid order, and count every change once", async () => {
    const over = "SELECT COUNT(*) FROM orders WHERE refunded + refunding > total";
    assert.equal(await h.value(over), 0);
    const reserved = `SELECT COUNT(*) FROM orders o WHERE o.refunded + o.refunding <>
      (SELECT COALESCE(SUM(r.refund), 0) FROM refunds r WHERE r.transaction_id = o.transaction_id AND r.status <> 'CLOSED')`;
    assert.equal(await h.value(reserved), 0);
    const events = await h.database.sql(
      `SELECT transaction_id AS id, event_type AS kind, version FROM order_events
        WHERE transaction_id IS NOT NULL ORDER BY transaction_id, seq`,
    );
    const changes = new Set(["ORDER_PAID", "ORDER_CLOSED", "REFUND_CREATED", "REFUND_SUCCEEDED", "REFUND_CLOSED"]);
    const byOrder = Map.groupBy(events, ({ id }) => id);
    for (const [id, rows] of byOrder) {
      let version = 1;
      for (const row of rows) {
        if (changes.has(String(row.kind))) version += 1;
        assert.equal(row.version, version, `${String(id)} ${String(row.kind)}`);
      }
      const ends = rows.filter(({ kind }) => kind === "ORDER_PAID" || kind === "ORDER_CLOSED");
      assert.ok(ends.length <= TRADE_TRANSITIONS.NOTPAY.length - 1);
      assert.equal(await h.value("SELECT version FROM orders WHERE transaction_id = ?", [id]), version);
    }
  });
});
