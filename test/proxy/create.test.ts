import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { monotonicMs } from "../../runtime/clock.ts";
import type { Order } from "../../core/schemas/orders.ts";
import { bucketOf, rendezvousOrder } from "../../core/placement.ts";
import { stripeNo } from "../../core/ids.ts";
import { problem } from "../../core/problem.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { atOnce, type Answer, createBody, type OrdersApi, type ProblemBody } from "../support/orders-api.ts";
import { type Fault, Link } from "./support/link.ts";
import { numberAt, type RunningProxy, type Stack, startStack, stripeIn, STRIPES, until } from "./support/stack.ts";

type Created = Answer<Order & ProblemBody>;

/** The deadline of three seconds, and what it takes to carry an answer on two busy cores. */
const ANSWER_MAX_MS = 3_000 + 700;
/** Clearly less than a wait for the deadline, and enough for a machine that is busy with other things. */
const AT_ONCE_MS = 2_000;
const CREATE = /^POST \/internal\/v1\/orders$/;

let stack: Stack;
before(async () => {
  stack = await startStack();
});
after(() => stack[Symbol.asyncDispose]());

let proxy: RunningProxy;
let api: OrdersApi;
/** A proxy whose masks know nothing yet. */
beforeEach(async () => {
  await proxy?.stop();
  await stack.heal();
  proxy = await stack.proxy();
  api = proxy.api;
});

/** The other stripes in the order in which creates of this number try them. */
function othersFor(outTradeNo: string, home: number): [number, number] {
  const all = STRIPES.map((n) => ({ stripe: stripeNo(n), weight: 100 }));
  const order = rendezvousOrder({ mchid: "test-merchant", outTradeNo }, all).filter((s) => s !== home);
  return order as number[] as [number, number];
}

function says(code: ErrorCode, status: number): Fault {
  return { kind: "answer", status, body: problem(code, "injected", "/", "r") };
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = monotonicMs();
  return [await work(), monotonicMs() - start];
}

function create(outTradeNo: string, more: Record<string, unknown> = {}): Promise<Created> {
  return api.create({ out_trade_no: outTradeNo, ...more });
}

async function ordersOf(outTradeNo: string): Promise<string[]> {
  const found: string[] = [];
  for (const database of stack.databases.values()) {
    const rows = await database.sql("SELECT transaction_id FROM orders WHERE out_trade_no = ?", [outTradeNo]);
    found.push(...rows.map((row) => String(row.transaction_id)));
  }
  return found;
}

describe("with all stripes well", () => {
  test("an order is placed at its bucket's home, without a jump", async () => {
    for (const home of STRIPES) {
      const answer = await create(numberAt(home));
      assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, home]);
      assert.equal(answer.headers["jumped-from"], undefined);
      assert.equal(stack.link(home).creates().at(-1)?.as, "HOME");
    }
  });

  test("fifty identical creates at once make one order: one 201, the others 200", async () => {
    const body = createBody();
    const answers = await atOnce(50, () => api.post<Order>("/v1/orders", body));
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
    assert.deepEqual(statuses, [...Array<number>(49).fill(200), 201]);
    assert.equal(new Set(answers.map(({ body: order }) => order.transaction_id)).size, 1);
    assert.ok(answers.every((a) => a.status === 201 || a.headers["idempotent-replayed"] === "true"));
    assert.equal((await ordersOf(String(body.out_trade_no))).length, 1);
  });

  test("identical creates at one proxy are asked of the stripe once; other content is asked for itself", async () => {
    const no = numberAt(1);
    const body = createBody({ out_trade_no: no });
    const other = createBody({ out_trade_no: no, description: "other" });
    stack.link(1).inject({ kind: "hang" }, CREATE, 1);
    const answers = await atOnce(20, (i) => api.post<Order & ProblemBody>("/v1/orders", i === 19 ? other : body));
    const used = answers.map((a) => a.body.transaction_id ?? a.body.conflict?.transaction_id);
    assert.deepEqual(
      answers.map(({ status }) => status).filter((s) => ![200, 201, 409].includes(s)),
      [],
    );
    assert.ok(new Set(used).size <= 2);
    assert.ok(stack.link(1).creates().length <= 2);
  });

  test("other content under a used number is 409 naming the fields and the order", async () => {
    const no = numberAt(2);
    const first = await create(no);
    const second = await create(no, { description: "something else", attach: "x" });
    assert.deepEqual([second.status, second.body.code], [409, "OUT_TRADE_NO_USED"]);
    assert.deepEqual(second.body.conflict, {
      transaction_id: first.body.transaction_id,
      fields: ["description", "attach"],
    });
  });

  test("no two numbers are alike, whichever proxy mints them", async () => {
    const other = await stack.proxy();
    const orders = await atOnce(150, (i) => (i % 2 === 0 ? api : other.api).created());
    assert.equal(new Set(orders.map((o) => o.transaction_id)).size, 150);
    await other.stop();
  });
});

describe("a home that certainly did not take the order", () => {
  test("refused connections: the order is placed elsewhere at once, and nothing counts as failed", async () => {
    const no = numberAt(1);
    const [next] = othersFor(no, 1);
    await stack.link(1).refuse();
    const [answer, ms] = await timed(() => create(no));
    assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, next]);
    assert.equal(answer.headers["jumped-from"], "1");
    assert.ok(ms < AT_ONCE_MS, `took ${ms} ms`);
    const [sent] = stack.link(next).creates();
    assert.deepEqual([sent?.as, sent?.failed], ["JUMP", []]);
    assert.equal(await proxy.metric('proxy_jumps_total{from="1"'), 1);
  });

  test("a retry during the outage meets the same stripe and the same order", async () => {
    const no = numberAt(1);
    await stack.link(1).refuse();
    const first = await create(no);
    const again = await create(no);
    assert.deepEqual([again.status, again.body.transaction_id], [200, first.body.transaction_id]);
    assert.equal(again.headers["idempotent-replayed"], "true");
    assert.equal((await create(no, { description: "other" })).status, 409);
  });

  for (const [code, status] of [
    ["STRIPE_READ_ONLY", 503],
    ["OVERLOADED", 503],
    ["STRIPE_UNAVAILABLE", 503],
    ["RATELIMIT_EXCEEDED", 429],
  ] as const) {
    test(`${code}: nothing was written, so the jump carries no failed number`, async () => {
      const no = numberAt(2);
      const [next] = othersFor(no, 2);
      stack.link(2).inject(says(code, status), CREATE);
      const answer = await create(no);
      assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, next]);
      assert.deepEqual(stack.link(next).creates()[0]?.failed, []);
    });
  }
});

describe("a home whose answer is missing", () => {
  const unknown: readonly [string, Fault][] = [
    ["it hangs", { kind: "hang" }],
    ["the connection breaks before it did anything", { kind: "reset" }],
    ["the connection breaks after it did the work", { kind: "drop-answer" }],
    ["half of its answer arrives", { kind: "cut-answer" }],
    ["NOT_DURABLE", says("NOT_DURABLE", 503)],
    ["SYSTEM_ERROR", says("SYSTEM_ERROR", 500)],
    ["TIMEOUT", says("TIMEOUT", 504)],
    ["an answer that nobody understands", { kind: "answer", status: 502, body: { hello: 1 } }],
  ];
  for (const [what, fault] of unknown) {
    test(`${what}: the order jumps in time, its first number in the failed list`, async () => {
      const no = numberAt(3);
      const [next] = othersFor(no, 3);
      stack.link(3).inject(fault, CREATE);
      const [answer, ms] = await timed(() => create(no));
      assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, next], JSON.stringify(answer.body));
      assert.equal(answer.headers["jumped-from"], "3");
      assert.ok(ms < ANSWER_MAX_MS, `took ${ms} ms`);
      const [sent] = stack.link(next).creates();
      const attempts = new Set(
        stack
          .link(3)
          .creates()
          .map((c) => c.transaction_id),
      );
      assert.equal(attempts.size, 1, "all tries at one stripe carry one number");
      assert.deepEqual([sent?.as, sent?.failed], ["JUMP", [...attempts]]);
    });
  }

  test("two stripes hang: the third has both numbers, oldest first, and answers in time", async () => {
    const no = numberAt(1);
    const [second, third] = othersFor(no, 1);
    for (const stripe of [1, second]) stack.link(stripe).inject({ kind: "hang" }, CREATE);
    const [answer, ms] = await timed(() => create(no));
    assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, third]);
    assert.ok(ms < ANSWER_MAX_MS, `took ${ms} ms`);
    const [a, b] = [stack.link(1).creates()[0], stack.link(second).creates()[0]];
    assert.deepEqual(b?.failed, [a?.transaction_id]);
    assert.deepEqual(stack.link(third).creates()[0]?.failed, [a?.transaction_id, b?.transaction_id]);
    assert.equal(answer.headers["jumped-from"], `1, ${second}`);
  });

  test("the failed list never outlives its request", async () => {
    const no = numberAt(1);
    const [next] = othersFor(no, 1);
    stack.link(1).inject({ kind: "reset" }, CREATE);
    await create(no);
    await create(no);
    const lists = stack
      .link(next)
      .creates()
      .map((c) => c.failed);
    assert.equal(lists.length, 2);
    assert.notDeepEqual(lists[0], lists[1]);
    assert.equal(lists[1]?.length, 1);
  });

  test("all stripes hang: 504 within the deadline, honest about the outcome", async () => {
    for (const stripe of STRIPES) stack.link(stripe).inject({ kind: "hang" }, CREATE);
    const [answer, ms] = await timed(() => create(numberAt(1)));
    assert.deepEqual([answer.status, answer.body.code, answer.body.retryable], [504, "TIMEOUT", true]);
    assert.ok(ms < ANSWER_MAX_MS, `took ${ms} ms`);
  });

  test("all stripes refuse: 503 NO_STRIPE_AVAILABLE with Retry-After, nothing written", async () => {
    for (const stripe of STRIPES) await stack.link(stripe).refuse();
    const no = numberAt(1);
    const answer = await create(no);
    assert.deepEqual([answer.status, answer.body.code], [503, "NO_STRIPE_AVAILABLE"]);
    assert.equal(answer.headers["retry-after"], "1");
    assert.deepEqual(await ordersOf(no), []);
  });
});

describe("several instances of one stripe", () => {
  test("a lost answer is asked for again at another instance with the same number, and is new to the merchant", async () => {
    const bad = await new Link(serviceBehind(1)).open();
    try {
      await proxy.routed(await stack.route(1, { services: JSON.stringify([bad.url, stack.link(1).url]) }));
      bad.inject({ kind: "drop-answer" }, CREATE);
      for (let i = 0; i < 4; i++) {
        const no = numberAt(1);
        const answer = await create(no);
        assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, 1]);
        assert.equal(answer.headers["idempotent-replayed"], undefined);
        assert.deepEqual(await ordersOf(no), [answer.body.transaction_id]);
      }
      assert.ok(bad.creates().length > 0, "the bad instance was asked");
      await bad.refuse();
      for (let i = 0; i < 6; i++) assert.equal(stripeIn((await create(numberAt(1))).body.transaction_id), 1);
    } finally {
      await bad[Symbol.asyncDispose]();
      await stack.route(1, { services: JSON.stringify([stack.link(1).url]) });
    }
  });
});

function serviceBehind(stripe: number): string {
  return stack.link(stripe).target;
}

describe("masks", () => {
  test("after failures in a row a home is passed over at once; one trial a while brings it back", async () => {
    stack.link(1).inject({ kind: "hang" }, CREATE);
    await atOnce(3, () => create(numberAt(1)));
    const asked = stack.link(1).creates().length;
    assert.equal(await proxy.metric('proxy_stripe_masked{stripe="1"'), 1);
    const [answer, ms] = await timed(() => create(numberAt(1)));
    assert.deepEqual([answer.status, answer.headers["jumped-from"]], [201, "1"]);
    assert.ok(ms < AT_ONCE_MS, `took ${ms} ms`);
    assert.equal(stack.link(1).creates().length, asked, "the masked stripe was not asked");
    await stack.link(1).heal();
    await until(async () => stripeIn((await create(numberAt(1))).body.transaction_id) === 1, "the home is back");
    assert.equal(await proxy.metric('proxy_stripe_masked{stripe="1"'), 0);
  });

  test("a mask only changes the order: with every stripe masked creates still go through", async () => {
    for (const stripe of STRIPES) stack.link(stripe).inject(says("NOT_DURABLE", 503), CREATE, 3);
    await atOnce(3, () => create(numberAt(1)));
    const answer = await create(numberAt(2));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
  });

  test("a busy stripe is not an ill one", async () => {
    stack.link(1).inject(says("OVERLOADED", 503), CREATE, 5);
    await atOnce(5, () => create(numberAt(1)));
    assert.equal(stripeIn((await create(numberAt(1))).body.transaction_id), 1);
  });
});

describe("what the routing table says", () => {
  test("a blocked home is passed over, and what it holds is still recognised", async () => {
    const placed = numberAt(1);
    const before = await create(placed);
    await proxy.routed(await stack.route(1, { blocked: 1 }));
    try {
      const fresh = await create(numberAt(1));
      assert.equal(fresh.status, 201);
      assert.notEqual(stripeIn(fresh.body.transaction_id), 1);
      const again = await create(placed);
      assert.deepEqual([again.status, again.body.transaction_id], [200, before.body.transaction_id]);
      assert.equal((await create(placed, { description: "other" })).status, 409);
      assert.equal(stack.link(1).creates().length, 1, "no create went to the blocked stripe");
    } finally {
      await stack.route(1, { blocked: 0 });
    }
  });

  test("warm, cold and weightless stripes take no creates", async () => {
    for (const columns of [{ temperature: "warm" }, { temperature: "cold" }, { temperature: "hot", weight: 0 }]) {
      await proxy.routed(await stack.route(3, columns));
      for (const home of STRIPES) assert.notEqual(stripeIn((await create(numberAt(home))).body.transaction_id), 3);
    }
    await stack.route(3, { temperature: "hot", weight: 100 });
  });

  test("a strict merchant gets 503 rather than any chance of a second order", async () => {
    await stack.controlSql(
      "INSERT INTO merchants (mchid, partition_name, create_policy, update_time) VALUES ('strict-1', 'standard', 'strict', UTC_TIMESTAMP(3))",
    );
    await proxy.routed(await stack.route(1, { weight: 100 }));
    const strict = { mchid: "strict-1" };
    const first = await api.create(strict);
    assert.equal(first.status, 201);
    const home = stripeIn(first.body.transaction_id);
    await stack.link(home).refuse();
    const again = await api.create({ ...strict, out_trade_no: first.body.out_trade_no });
    assert.deepEqual([again.status, again.body.code], [503, "NO_STRIPE_AVAILABLE"]);
    for (const other of STRIPES.filter((s) => s !== home)) assert.deepEqual(stack.link(other).creates(), []);
    await stack.link(home).heal();
    stack.link(home).inject({ kind: "drop-answer" }, CREATE);
    const lost = await api.create({ ...strict, out_trade_no: first.body.out_trade_no });
    assert.deepEqual([lost.status, lost.body.code], [503, "NOT_DURABLE"]);
  });

  test("a home that says 421 makes the table fresh, and the create goes on at the new home", async () => {
    const slow = await stack.proxy({ limits: { routingPollMs: 60_000 } });
    const no = numberAt(1);
    const bucket = bucketOf({ mchid: "test-merchant", outTradeNo: no });
    const move = async (from: number, to: number): Promise<void> => {
      await stack.databases.get(from)?.sql("UPDATE bucket_state SET role = 'MOVED' WHERE bucket = ?", [bucket]);
      await stack.databases.get(to)?.sql("REPLACE INTO bucket_state (bucket, role) VALUES (?, 'HOME')", [bucket]);
      await stack.controlSql("UPDATE buckets SET stripe = ? WHERE bucket = ?", [to, bucket]);
      await stack.controlSql("UPDATE routing_meta SET version = version + 1");
    };
    await move(1, 2);
    const answer = await slow.api.create({ out_trade_no: no });
    assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, 2]);
    assert.equal(answer.headers["jumped-from"], undefined, "going to the new home is no jump");
    assert.deepEqual(stack.link(2).creates().at(-1)?.as, "HOME");
    assert.equal(await slow.metric("proxy_misdirected_total"), 1);
    await move(2, 1);
    await slow.stop();
  });

  test("a home that goes on saying 421 is jumped over after a moment, and counts as certain", async () => {
    const no = numberAt(1);
    const [next] = othersFor(no, 1);
    stack.link(1).inject(says("MISDIRECTED", 421), CREATE);
    const [answer, ms] = await timed(() => create(no));
    assert.deepEqual([answer.status, stripeIn(answer.body.transaction_id)], [201, next]);
    assert.deepEqual(stack.link(next).creates()[0]?.failed, []);
    assert.ok(ms < AT_ONCE_MS, `took ${ms} ms`);
  });
});

describe("a number that is known is never created again", () => {
  /** An order that jumped from home 1, whose home has learnt of it. */
  async function jumpedAndClaimed(): Promise<{ no: string; order: Order; third: number }> {
    const no = numberAt(1);
    const [next, third] = othersFor(no, 1);
    await stack.link(1).refuse();
    const { body: order } = await create(no);
    assert.equal(stripeIn(order.transaction_id), next);
    const [row] = (await stack.databases.get(next)?.sql("SELECT * FROM handoffs WHERE out_trade_no = ?", [no])) ?? [];
    await stack.databases
      .get(1)
      ?.sql(
        "INSERT INTO merchant_orders (bucket, mchid, out_trade_no, transaction_id, request_hash) VALUES (?, ?, ?, ?, ?)",
        [row?.bucket, row?.mchid, no, order.transaction_id, row?.request_hash],
      );
    await stack.heal();
    return { no, order, third };
  }

  test("home points to another stripe: the order is fetched from there", async () => {
    const { no, order } = await jumpedAndClaimed();
    const again = await create(no);
    assert.deepEqual([again.status, again.body.transaction_id], [200, order.transaction_id]);
    assert.equal(again.headers["idempotent-replayed"], "true");
    const other = await create(no, { amount: { total: 5, currency: "CNY" } });
    assert.deepEqual(
      [other.status, other.body.conflict],
      [409, { transaction_id: order.transaction_id, fields: ["amount.total"] }],
    );
  });

  test("that stripe is down: 503 naming the order, and no jump", async () => {
    const { no, order, third } = await jumpedAndClaimed();
    await stack.link(stripeIn(order.transaction_id)).refuse();
    const again = await create(no);
    assert.deepEqual([again.status, again.body.code, again.body.retryable], [503, "STRIPE_UNAVAILABLE", true]);
    assert.deepEqual(again.body.conflict, { transaction_id: order.transaction_id });
    assert.deepEqual(stack.link(third).creates(), []);
    assert.deepEqual(await ordersOf(no), [order.transaction_id]);
  });
});

describe("overload", () => {
  test("a stripe with too much in flight is passed over at once", async () => {
    const narrow = await stack.proxy({ limits: { stripeInFlightMax: 2 } });
    stack.link(1).inject({ kind: "hang" }, CREATE);
    const stuck = atOnce(2, () => narrow.api.create({ out_trade_no: numberAt(1) }));
    await until(async () => stack.link(1).creates().length === 2, "two creates in flight");
    const [answer, ms] = await timed(() => narrow.api.create({ out_trade_no: numberAt(1) }));
    assert.equal(answer.status, 201);
    assert.ok(ms < AT_ONCE_MS, `took ${ms} ms`);
    assert.equal(await narrow.metric('proxy_jumps_total{from="1",reason="overloaded"'), 1);
    assert.ok((await stuck).every(({ status }) => status === 201));
    await narrow.stop();
  });
});
