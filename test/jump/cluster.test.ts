// Jumps through two proxies and the resolvers of three stripes, as a merchant sees them.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import pino from "pino";
import { requestHash } from "../../core/order-content.ts";
import { assignBuckets, bucketOf } from "../../core/placement.ts";
import type { StripeNo } from "../../core/ids.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { Rebalancer } from "../../ops/bucket-move/rebalancer.ts";
import { moveBucket, rebalance } from "../../ops/bucket-move/move-bucket.ts";
import { listOpenMoves } from "../../ops/db/bucket-moves.ts";
import { readBuckets } from "../../ops/db/partition-buckets.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { atOnce } from "../support/orders-api.ts";
import { StripeClient, until } from "../support/stripe-harness.ts";
import { brokenDrained, readFacts, survivorOf } from "./support/facts.ts";
import { JumpCluster } from "./support/jump-cluster.ts";

const MCHID = "test-merchant";
const CREATORS = 64;
/** Of all orders. */
const SHARE_OFF_MAX = 0.03;
const TWO_SECONDS_MS = 2_000;
/** A busy machine must not decide what is answered: nothing here waits for these to pass but silent stripes. */
const PATIENT = { requestDeadlineMs: 8_000, attemptTimeoutMs: 3_000, connectTimeoutMs: 1_500 };
let c: JumpCluster;
before(async () => {
  // Small pages, so that a few handoffs fill more than one.
  c = await JumpCluster.start({ instances: 2, limits: PATIENT, env: { RESOLVER_BATCH_MAX: "3" } });
});
after(() => c[Symbol.asyncDispose]());
afterEach(async () => {
  await c.disarm();
  for (const link of c.links.values()) {
    link.judge = () => undefined;
    await link.open();
  }
  await c.drained();
  for (const stripe of [1, 2, 3]) await homeIsBack(stripe);
});

const bucket = (outTradeNo: string): number => bucketOf({ mchid: MCHID, outTradeNo });
const stripeIn = (id: string): number => Number(id.slice(2, 6));
const lookUp = (n: 0 | 1, no: string) =>
  c.api(n).get<Record<string, unknown>>(`/v1/orders/out-trade-no/${no}?mchid=${MCHID}`);

async function homeIsBack(stripe: number): Promise<void> {
  for (const n of [0, 1] as const) {
    await until(`proxy ${n} uses stripe ${stripe} again`, 20_000, async () => {
      const { status, body } = await c.api(n).create({ out_trade_no: c.numberAt(stripe) });
      return status === 201 && stripeIn(body.transaction_id) === stripe;
    });
  }
}

async function checkNumber(no: string): Promise<string> {
  await c.drained();
  const facts = (await readFacts(c.databases, MCHID, bucket, no)).get(no);
  assert.ok(facts !== undefined);
  assert.deepEqual(brokenDrained(facts, await c.homeOf(bucket(no))), []);
  const id = survivorOf(facts)?.id ?? "";
  for (const n of [0, 1] as const) assert.equal((await lookUp(n, no)).body.transaction_id, id);
  return id;
}

describe("an outage of the home", () => {
  test("an order that jumped is claimed within two seconds of the home's return, and found under its number", async () => {
    const no = c.numberAt(1);
    await c.link(1).refuse();
    const order = await c.api(0).created({ out_trade_no: no });
    assert.notEqual(stripeIn(order.transaction_id), 1);
    await c.link(1).open();
    const startMs = monotonicMs();
    await c.drained();
    assert.ok(monotonicMs() - startMs < TWO_SECONDS_MS, `took ${Math.round(monotonicMs() - startMs)} ms`);
    assert.equal(await checkNumber(no), order.transaction_id);
  });

  test("a home that is away is left alone between a few tries, however many orders wait for it", async () => {
    await c.link(1).refuse();
    for (let i = 0; i < 20; i++) await c.api(0).created({ out_trade_no: c.numberAt(1) });
    let claims = 0;
    c.link(1).judge = ({ what }) => {
      if (what === "POST /internal/v1/claims") claims += 1;
      return { kind: "reset" };
    };
    await c.link(1).open();
    const startMs = monotonicMs();
    await until("a second has passed", 5_000, () => monotonicMs() - startMs > 1_000);
    // Two stripes with two instances each, 200 ms apart in these tests; the first callers come together.
    const most = 4 * (1 + (monotonicMs() - startMs) / 200) + 16;
    assert.ok(claims > 0 && claims <= most, `${claims} claims in a second`);
  });

  test("retries on both proxies during the outage meet the same order", async () => {
    const no = c.numberAt(2);
    await c.link(2).refuse();
    const first = await c.api(0).created({ out_trade_no: no });
    for (const n of [0, 1] as const) {
      const again = await c.api(n).create({ out_trade_no: no });
      assert.deepEqual([again.status, again.body.transaction_id], [200, first.transaction_id]);
    }
    await c.link(2).open();
    assert.equal(await checkNumber(no), first.transaction_id);
  });

  test("a home that is back gets creates only once it knows of what jumped: a retry makes no second order", async () => {
    await c.arm({ point: "resolver.before-step-1", action: "delay", ms: 700, times: 1_000 });
    const numbers = Array.from({ length: 6 }, () => c.numberAt(3));
    await c.link(3).refuse();
    const placed = await Promise.all(numbers.map((no) => c.api(0).created({ out_trade_no: no })));
    await c.link(3).open();
    const startMs = monotonicMs();
    while (monotonicMs() - startMs < 1_200) {
      for (const [i, no] of numbers.entries()) {
        const again = await c.api(0).create({ out_trade_no: no });
        assert.deepEqual([again.status, again.body.transaction_id], [200, placed[i]?.transaction_id]);
      }
    }
    await c.disarm();
    for (const no of numbers) await checkNumber(no);
    const facts = await readFacts(c.databases, MCHID, bucket);
    for (const no of numbers) assert.equal(facts.get(no)?.orders.length, 1);
  });

  test("with a home that is not readmitted and all others away, creates go home all the same", async () => {
    await c.link(1).refuse();
    for (let i = 0; i < 3; i++) await c.api(0).created({ out_trade_no: c.numberAt(1) });
    await c.arm({ point: "resolver.before-step-1", action: "delay", ms: 5_000, times: 1_000 });
    await c.link(1).open();
    await c.link(2).refuse();
    await c.link(3).refuse();
    const order = await c.api(0).created({ out_trade_no: c.numberAt(1) });
    assert.equal(stripeIn(order.transaction_id), 1);
  });

  test("C12: a number that the home knows to be on a stripe that is away is 503 with its order number, and no new order", async () => {
    const no = c.numberAt(1);
    await c.link(1).refuse();
    const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
    await c.link(1).open();
    await c.drained();
    await homeIsBack(1);
    await c.link(stripeIn(id)).refuse();
    for (const n of [0, 1] as const) {
      const again = await c.api(n).create({ out_trade_no: no });
      assert.deepEqual([again.status, again.body.code], [503, "STRIPE_UNAVAILABLE"]);
      assert.equal(again.body.conflict?.transaction_id, id);
    }
    await c.link(stripeIn(id)).open();
    assert.equal(await checkNumber(no), id);
    assert.equal((await readFacts(c.databases, MCHID, bucket, no)).get(no)?.orders.length, 1);
  });

  test("C14: before the home knows, a look-up finds the order on its stripe, and is 503, never 404, without that stripe", async () => {
    await c.arm({ point: "resolver.before-step-1", action: "delay", ms: 10_000, times: 1_000 });
    const no = c.numberAt(1);
    await c.link(1).refuse();
    const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
    for (const open of [false, true]) {
      if (open) await c.link(1).open();
      const found = await lookUp(1, no);
      assert.deepEqual([found.status, found.body.transaction_id], [200, id]);
    }
    await c.link(stripeIn(id)).refuse();
    const unsure = await lookUp(1, no);
    assert.deepEqual([unsure.status, unsure.body.code], [503, "STRIPE_UNAVAILABLE"]);
    await c.link(stripeIn(id)).open();
    assert.equal((await lookUp(1, c.numberAt(1))).status, 404, "a number that nobody knows");
  });

  test("two orders of a number show their survivor by both numbers, and the loser's payer is refused", async () => {
    const no = c.numberAt(1);
    c.link(1).judge = ({ what }) => (what === "POST /internal/v1/orders" ? { kind: "drop-answer" } : undefined);
    const jumped = await c.api(0).created({ out_trade_no: no });
    assert.notEqual(stripeIn(jumped.transaction_id), 1);
    const survivor = await checkNumber(no);
    assert.equal(survivor, jumped.transaction_id, "its own lost attempt yields to the order that was told");
    const facts = (await readFacts(c.databases, MCHID, bucket, no)).get(no);
    const ghost = facts?.orders.find(({ id }) => id !== survivor)?.id ?? "";
    const shown = await c.api(1).order(ghost);
    assert.deepEqual([shown.body.trade_state, shown.body.superseded_by], ["CLOSED", survivor]);
    const pay = await c.api(1).pay(ghost);
    assert.deepEqual([pay.status, pay.body.code, pay.body.conflict?.superseded_by], [409, "ORDER_CLOSED", survivor]);
    assert.equal((await c.api(1).pay(survivor)).status, 200);
  });

  test("a strict merchant's order never jumps: 503, and nothing is anywhere", async () => {
    const now = c.control.raw("UTC_TIMESTAMP(3)");
    const row = { mchid: "strict-one", partition_name: "standard", create_policy: "strict", update_time: now };
    await c.control("merchants").insert(row);
    await c.changed();
    await c.routed();
    const no = c.numberAt(1, "strict-one");
    await c.link(1).refuse();
    for (const n of [0, 1] as const) {
      const answer = await c.api(n).create({ mchid: "strict-one", out_trade_no: no });
      assert.equal(answer.status, 503);
      assert.ok(answer.body.retryable);
    }
    await c.link(1).open();
    const { status, body } = await c.api(0).create({ mchid: "strict-one", out_trade_no: no });
    assert.deepEqual([status, stripeIn(body.transaction_id)], [201, 1]);
  });

  test("without the control database handoffs are still settled", async () => {
    const no = c.numberAt(2);
    await c.control.raw("RENAME TABLE control.routing_meta TO control.gone");
    try {
      await c.link(2).refuse();
      const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
      await c.link(2).open();
      await c.drained();
      assert.equal((await lookUp(1, no)).body.transaction_id, id);
    } finally {
      await c.control.raw("RENAME TABLE control.gone TO control.routing_meta");
    }
  });

  test("a resolver that dies after each step, at every instance, leaves nothing undone", async () => {
    for (const step of ["1", "2", "3", "4a"]) {
      await c.arm({ point: `resolver.after-step-${step}`, action: "kill", times: 2 });
      const no = c.numberAt(1);
      c.link(1).judge = ({ what }) => (what === "POST /internal/v1/orders" ? { kind: "drop-answer" } : undefined);
      const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
      c.link(1).judge = () => undefined;
      assert.equal(await checkNumber(no), id);
      await c.disarm();
    }
  });
});

test("fault points exist only in a process that was started with them", async () => {
  const url = await c.addInstance(1, { FAULT_POINTS: "0" });
  const client = new StripeClient(url, 1);
  const rule = { point: "create.before-begin", action: "delay", ms: 1 };
  assert.equal((await client.post("/faults", rule)).status, 404);
  assert.equal((await (c.direct.get(1) as StripeClient).post("/faults", { ...rule, point: "nowhere" })).status, 400);
  await client.stop();
});

describe("C13: a database that is not open under its epoch", () => {
  test("decides nothing and recognises nothing, and handoffs wait", async () => {
    const no = c.numberAt(1);
    await c.link(1).refuse();
    const { transaction_id: d } = await c.api(0).created({ out_trade_no: no });
    await c.link(1).open();
    await c.drained();
    const order: CreateOrder = {
      mchid: MCHID,
      out_trade_no: no,
      description: "a cup of tea / 一杯茶",
      amount: { total: 1999, currency: "CNY" },
    };
    const [epoch] = await c.sql(1, "SELECT server_uuid FROM ha.epoch WHERE epoch = 1");
    // As a server that crashed and came back shows itself: the newest epoch row is another server's.
    await c.sql(1, "UPDATE ha.epoch SET server_uuid = 'another' WHERE epoch = 1");
    let closed: StripeClient;
    try {
      closed = new StripeClient(await c.addInstance(1, { RESOLVER_PARALLEL_MAX: "1" }), 1);
      const wire = { mchid: MCHID, out_trade_no: no, bucket: bucket(no) };
      const hash = requestHash(order);
      const calls: [string, object][] = [
        ["/orders", { transaction_id: d, bucket: wire.bucket, as: "HOME", failed: [], request_hash: hash, order }],
        ["/claims", { ...wire, transaction_id: d, request_hash: hash }],
        ["/index/repoint", { ...wire, from: d, to: d, request_hash: hash }],
        [`/orders/${d}/supersede`, { mchid: MCHID, out_trade_no: no, by: d, claim: "PAID" }],
      ];
      for (const [path, body] of calls) {
        const answer = await closed.post(path, body);
        assert.ok(
          [421, 503].includes(answer.status),
          `${path} answered ${answer.status} ${JSON.stringify(answer.body)}`,
        );
      }
      const query = `mchid=${MCHID}&out_trade_no=${no}&bucket=${wire.bucket}&in=index`;
      assert.equal((await closed.get(`/lookup?${query}`)).status, 503);
      assert.equal((await closed.get("/handoffs/pending")).status, 503);
    } finally {
      await c.sql(1, "UPDATE ha.epoch SET server_uuid = ? WHERE epoch = 1", [epoch?.server_uuid]);
    }
    await closed.stop();
  });
});

describe("the control plane's moves of buckets", () => {
  test("a move that dies after each step is gone on with by the next, and no other move begins meanwhile", async () => {
    const no = c.numberAt(1);
    const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
    const target = { partition: "standard", bucket: bucket(no), to: 2 };
    for (const dead of ["import", "fence", "page", "activate"]) {
      const mover = c.mover((step) => (step === dead ? Promise.reject(new Error("dies")) : Promise.resolve()));
      await moveBucket(mover, target).catch((error: unknown) => assert.match(String(error), /dies/));
      await assert.rejects(moveBucket(c.mover(), { ...target, to: 3 }), /on its way to stripe 2/);
    }
    assert.equal(await moveBucket(c.mover(), target), true);
    assert.equal(await moveBucket(c.mover(), target), false, "it is at home there already");
    await c.routed();
    assert.equal(await checkNumber(no), id);
    const again = await c.api(1).create({ out_trade_no: no });
    assert.deepEqual([again.status, again.body.transaction_id], [200, id]);
    assert.equal(await moveBucket(c.mover(), { ...target, to: 1 }), true);
    await c.routed();
    assert.equal(await checkNumber(no), id);
  });

  test("a move whose target dies behind the fence is gone on with by itself when the target is back", async () => {
    const no = c.numberAt(1);
    const { transaction_id: id } = await c.api(0).created({ out_trade_no: no });
    const target = { partition: "standard", bucket: bucket(no), to: 2 };
    const dies = c.mover((step) => (step === "fence" ? Promise.reject(new Error("dies")) : Promise.resolve()));
    await assert.rejects(moveBucket(dies, target), /dies/);
    await c.link(2).refuse();
    const rebalancer = new Rebalancer(c.mover(), pino({ level: "silent" }));
    rebalancer.startResuming();
    await c.link(2).open();
    await until(
      "the bucket has arrived",
      20_000,
      async () => (await listOpenMoves(c.control, "standard")).length === 0,
    );
    await rebalancer.stop();
    assert.equal((await readBuckets(c.control, "standard"))[target.bucket], 2);
    await c.routed();
    assert.equal(await checkNumber(no), id);
    await moveBucket(c.mover(), { ...target, to: 1 });
    await c.routed();
  });

  test("numbers of a blocked stripe are recognised while its buckets move away: nobody is given a second order", async () => {
    const known = new Map<string, string>();
    for (let i = 0; i < 30; i++) {
      const no = c.numberAt(1);
      known.set(no, (await c.api(0).created({ out_trade_no: no })).transaction_id);
    }
    await c.route(1, { blocked: 1 });
    for (const [no, id] of known) {
      await moveBucket(c.mover(), { partition: "standard", bucket: bucket(no), to: 2 });
      const again = await c.api(0).create({ out_trade_no: no }); // at once: the proxy's table is behind
      assert.deepEqual([again.status, again.body.transaction_id], [200, id], no);
    }
    await c.route(1, { blocked: 0 });
    for (const no of known.keys()) await moveBucket(c.mover(), { partition: "standard", bucket: bucket(no), to: 1 });
    await c.routed();
  });

  test("orders are created and paid all the while a bucket moves there and back", async () => {
    const [no] = [c.numberAt(1)];
    const moved = bucket(no);
    const numbers: string[] = [];
    while (numbers.length < 60) {
      const next = c.numberAt(1);
      if (bucket(next) === moved) numbers.push(next);
    }
    const creating = (async () => {
      for (const [i, number] of numbers.entries()) {
        const { status, body } = await c.api((i % 2) as 0 | 1).create({ out_trade_no: number });
        assert.ok(status === 201 || status === 200, `${status} ${JSON.stringify(body)}`);
        assert.equal((await c.api(((i + 1) % 2) as 0 | 1).pay(body.transaction_id)).status, 200);
      }
    })();
    for (const to of [2, 3, 1]) await moveBucket(c.mover(), { partition: "standard", bucket: moved, to });
    await creating;
    await c.routed();
    for (const number of numbers) await checkNumber(number);
  });

  test("a stripe that does not answer keeps its buckets; the others are rebalanced by weight", async () => {
    await c.route(2, { weight: 97 });
    const wanted = assignBuckets(
      await readBuckets(c.control, "standard"),
      [100, 97, 100].map((weight, i) => ({ stripe: (i + 1) as StripeNo, weight })),
    );
    const before = await readBuckets(c.control, "standard");
    const changes = wanted.flatMap((to, b) => (to !== before[b] ? [{ b, to }] : []));
    assert.ok(changes.length > 0 && changes.length < 20);
    await c.link(3).refuse();
    const first = await rebalance(c.mover(), "standard");
    assert.equal(first.moved + first.left, changes.length);
    assert.ok(first.left > 0);
    await c.link(3).open();
    const second = await rebalance(c.mover(), "standard");
    assert.deepEqual(second, { planned: first.left, moved: first.left, left: 0 });
    assert.deepEqual(await readBuckets(c.control, "standard"), wanted);
    assert.deepEqual(await listOpenMoves(c.control, "standard"), []);
    await c.route(2, { weight: 100 });
    await rebalance(c.mover(), "standard");
    await c.routed();
  });
});

test("20,000 creates land by weight within 3 %, those of one merchant with half of all of them too", async () => {
  await using cluster = await JumpCluster.start({ limits: { ...PATIENT, requestDeadlineMs: 20_000 } });
  const weights = new Map([
    [1, 50],
    [2, 100],
    [3, 150],
  ]);
  for (const [stripe, weight] of weights) await cluster.control("stripes").where({ stripe }).update({ weight });
  await cluster.changed();
  assert.equal((await rebalance(cluster.mover(), "standard")).left, 0);
  await cluster.routed();
  // The same numbers in every run: their places are a function of them.
  const total = 20_000;
  const landed = { all: new Map<number, number>(), hot: new Map<number, number>() };
  let next = 0;
  const count = (of: Map<number, number>, stripe: number): void => void of.set(stripe, (of.get(stripe) ?? 0) + 1);
  await atOnce(CREATORS, async (worker) => {
    while (next < total) {
      const n = next++;
      const hot = n % 2 === 0;
      const mchid = hot ? "hot" : `merchant-${n % 997}`;
      const { status, body } = await cluster.api((worker % 2) as 0 | 1).create({ mchid, out_trade_no: `share-${n}` });
      assert.equal(status, 201, JSON.stringify(body));
      count(landed.all, stripeIn(body.transaction_id));
      if (hot) count(landed.hot, stripeIn(body.transaction_id));
    }
  });
  for (const [stripe, weight] of weights) {
    const wanted = weight / 300;
    for (const [of, map, orders] of [
      ["all", landed.all, total],
      ["hot", landed.hot, total / 2],
    ] as const) {
      const share = (map.get(stripe) ?? 0) / orders;
      assert.ok(Math.abs(share - wanted) < SHARE_OFF_MAX, `${of}: stripe ${stripe} has ${share}, wanted ${wanted}`);
    }
  }
});
