// The counterexamples that a model checker found for simpler rules, each as a trace on real stripes: what was broken
// there must hold here. H is stripe 1; S2 and S3 are the others.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../core/placement.ts";
import { BUCKET_PAGE_ROWS_MAX } from "../../core/schemas/wire-jump.ts";
import { StepRefused } from "../../ops/bucket-move/bucket-client.ts";
import { carryBucket } from "../../ops/bucket-move/carry-bucket.ts";
import { connect } from "../../runtime/mysql.ts";
import { until } from "../support/stripe-harness.ts";
import { die, Gate, HOME, JumpStripes } from "./support/jump-stripes.ts";

let h: JumpStripes;
before(async () => {
  h = await JumpStripes.start();
});
after(() => h[Symbol.asyncDispose]());

describe("orders that meet after an outage", () => {
  test("C1: an attempt that came late and was then told to somebody and paid is kept", async () => {
    const key = h.key();
    const t1 = h.nextId(HOME);
    const t2 = await h.create(2, key, { failed: [t1] });
    assert.equal(await h.create(HOME, key, { id: t1 }), t1);
    const again = await h.send(HOME, key);
    assert.deepEqual([again.status, again.body.transaction_id], [200, t1]);
    assert.equal((await h.pay(t1)).answer.status, 200);
    assert.equal((await h.settled(key)).id, t1);
    const loser = await h.order(t2);
    assert.deepEqual([loser.trade_state, loser.close_reason, loser.superseded_by], ["CLOSED", "DUPLICATE", t1]);
    // A merchant that closes what it was told must not believe that the number cannot be paid any more.
    const closed = await h.close(t2);
    assert.deepEqual([closed.status, closed.body.code], [409, "ORDER_CLOSED"]);
    assert.deepEqual(closed.body.conflict, { superseded_by: t1 });
    assert.equal((await h.order(t2)).version, loser.version, "nothing was written");
  });

  test("C2: an order that is paid after the resolver has met the other one is not closed", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    const d = await h.create(2, key);
    const gate = new Gate();
    const run = h.resolve(2, key, { "before-2": gate.wait });
    await gate.reached;
    assert.equal((await h.pay(d)).answer.status, 200);
    gate.open();
    await run;
    assert.equal((await h.settled(key)).id, d);
    assert.equal((await h.order(i)).superseded_by, d);
  });

  test("C3: a claim whose answer is lost in a crash leaves a handoff that is run again", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    await h.create(2, key);
    assert.equal(await h.resolve(2, key, { "after-1": die }), "killed");
    assert.equal((await h.facts(key)).handoffs[0]?.state, "PENDING");
    assert.equal((await h.settled(key)).id, i);

    const alone = h.key();
    const d = await h.create(2, alone);
    assert.equal(await h.resolve(2, alone, { "after-1": die }), "killed");
    assert.equal(await h.pointer(HOME, alone), d);
    assert.equal((await h.settled(alone)).id, d);
  });

  test("C4: the loser is closed before the pointer moves, and a crash between the two is mended", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    const d = await h.create(2, key);
    await h.pay(d);
    assert.equal(await h.resolve(2, key, { "after-3": die }), "killed");
    assert.equal((await h.order(i)).close_reason, "DUPLICATE");
    assert.equal(await h.pointer(HOME, key), i);
    assert.equal(await h.resolve(2, key, { "after-4a": die }), "killed");
    assert.equal(await h.pointer(HOME, key), d);
    assert.equal((await h.facts(key)).handoffs[0]?.state, "CLAIMED");
    assert.equal((await h.settled(key)).id, d);
  });

  test("C5: a pointer is moved only from the order that yielded, so a slow resolver does not set it back", async () => {
    const key = h.key();
    const t1 = await h.create(HOME, key);
    const t2 = await h.create(2, key, { failed: [t1] });
    const t3 = await h.create(3, key, { failed: [t1, t2] });
    const gate = new Gate();
    const slow = h.resolve(2, key, { "before-4a": gate.wait });
    await gate.reached;
    assert.deepEqual(await h.resolve(3, key), { kind: "done" });
    assert.equal(await h.pointer(HOME, key), t3);
    gate.open();
    assert.deepEqual(await slow, { kind: "done" });
    assert.equal((await h.settled(key)).id, t3);
    assert.equal((await h.order(t2)).superseded_by, t3);
  });

  test("C6: an open newcomer does not beat a pointer that the merchant closed, whatever becomes of it", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    const d = await h.create(2, key);
    assert.equal((await h.close(i)).status, 200);
    const gate = new Gate();
    const run = h.resolve(2, key, { "before-2": () => gate.wait().then(die) });
    await gate.reached;
    await h.expire(d);
    gate.open();
    assert.equal(await run, "killed");
    assert.equal((await h.settled(key)).id, i);
    assert.equal((await h.order(d)).superseded_by, i);

    const open = h.key();
    const closed = await h.create(HOME, open);
    await h.create(2, open);
    await h.close(closed);
    assert.equal((await h.settled(open)).id, closed);
  });

  test("C7: an order keeps its preference over its own lost attempts when it expires in between", async () => {
    const key = h.key();
    const t1 = await h.create(HOME, key);
    const t2 = await h.create(2, key, { failed: [t1] });
    assert.equal(await h.resolve(2, key, { "after-2": die }), "killed");
    await h.expire(t2);
    assert.equal(await h.resolve(2, key, { "after-3": die }), "killed");
    assert.equal((await h.order(t1)).superseded_by, t2);
    assert.equal((await h.settled(key)).id, t2);
  });

  test("C8: a handoff's list of lost attempts never grows, so preferences do not become a circle", async () => {
    const key = h.key();
    const t1 = await h.create(HOME, key);
    const u2 = await h.create(2, key);
    await h.create(3, key, { failed: [u2] });
    const gate = new Gate();
    const slow = h.resolve(3, key, { "after-1": gate.wait });
    await gate.reached;
    const recognised = await h.send(2, key, { failed: [t1] });
    assert.deepEqual([recognised.status, recognised.body.transaction_id], [200, u2]);
    const [row] = await h.member(2).database.sql("SELECT failed FROM handoffs WHERE transaction_id = ?", [u2]);
    assert.equal(row?.failed, "");
    await h.resolve(2, key);
    gate.open();
    await slow;
    assert.equal((await h.settled(key)).id, t1);
  });

  test("two paid orders: the one that the index names stands, the other's payment is recorded once as excess", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    const d = await h.create(2, key, { failed: [i] });
    await h.pay(i);
    const { outPayNo } = await h.pay(d);
    assert.equal(await h.resolve(2, key, { "after-3": die }), "killed");
    assert.equal((await h.settled(key)).id, i);
    const loser = (await h.facts(key)).orders.find(({ id }) => id === d);
    assert.deepEqual([loser?.state, loser?.supersededBy], ["SUCCESS", i]);
    assert.deepEqual(loser?.excess, [`SUPERSEDED ${outPayNo}`]);
    const refund = await h.api(2).refund(d, 100);
    assert.equal(refund.status, 201, "the excess is given back by an ordinary refund");
  });

  test("other content under the same number is settled alike, and told to people once", async () => {
    const key = h.key();
    const i = await h.create(HOME, key, { description: "coffee" });
    const d = await h.create(2, key, { failed: [i] });
    await h.resolve(2, key, { "after-2": die });
    assert.equal((await h.settled(key)).id, d);
    const rows = await h
      .member(2)
      .database.sql(
        "SELECT data FROM order_events WHERE event_type = 'DUPLICATE_CONTENT_DIFFERS' AND out_trade_no = ?",
        [key.outTradeNo],
      );
    assert.equal(rows.length, 1);
    const again = await h.send(HOME, key);
    assert.deepEqual([again.status, again.headers["order-pointer"]], [200, d], "the index has the survivor's content");
  });

  test("a payment on a closed duplicate is refused with the order that stands, and recorded", async () => {
    const key = h.key();
    const i = await h.create(HOME, key);
    const d = await h.create(2, key);
    await h.settled(key);
    const { answer } = await h.pay(d);
    assert.deepEqual([answer.status, answer.body.code], [409, "ORDER_CLOSED"]);
    assert.equal(answer.body.conflict.superseded_by, i);
    assert.match((await h.facts(key)).orders.find(({ id }) => id === d)?.excess[0] ?? "", /^LATE /);
  });
});

describe("buckets that move", () => {
  /** A key whose bucket is moved back to H afterwards by nobody: each test uses a bucket of its own. */
  const used = new Set<number>();
  const keyOfNewBucket = (): ReturnType<JumpStripes["key"]> => {
    for (;;) {
      const key = h.key();
      if (used.has(key.bucket)) continue;
      used.add(key.bucket);
      return key;
    }
  };
  after(() => {
    h.home = HOME;
  });

  test("C9: a create that comes late at a home that has moved is refused, and nothing is written", async () => {
    const key = keyOfNewBucket();
    await h.move(key.bucket, HOME, 2);
    const late = await h.send(HOME, key);
    assert.deepEqual([late.status, late.body.code], [421, "MISDIRECTED"]);
    h.home = 2;
    const id = await h.create(2, key, { as: "HOME" });
    assert.equal((await h.settled(key)).id, id);
    assert.equal((await h.facts(key)).orders.length, 1);
    h.home = HOME;
  });

  test("C9': a handoff is delivered to the home of now, not to the one it was written for", async () => {
    const key = keyOfNewBucket();
    const d = await h.create(3, key);
    await h.move(key.bucket, HOME, 2);
    const stale = await h.resolve(3, key);
    assert.deepEqual(stale, { kind: "later", reason: "misdirected", refresh: true });
    assert.equal((await h.facts(key)).handoffs[0]?.state, "PENDING");
    h.home = 2;
    assert.equal((await h.settled(key)).id, d);
    assert.equal(await h.pointer(2, key), d);
    h.home = HOME;
  });

  test("C10: rows are copied only after the fence, which waits for creates, and never after the activation", async () => {
    const key = keyOfNewBucket();
    const t1 = await h.create(HOME, key);
    const from = h.bucketClient(HOME, key.bucket);
    const to = h.bucketClient(2, key.bucket);
    const epoch = h.nextMoveEpoch();
    await to.step("import", epoch);
    await assert.rejects(from.rows(epoch, undefined), StepRefused, "nothing is handed out before the fence");
    const creating = await connect(h.member(HOME).database.target, 5_000);
    await creating.beginTransaction();
    await creating.query("SELECT role FROM bucket_state WHERE bucket = ? FOR SHARE", [key.bucket]);
    const fenced = from.step("fence", epoch);
    const waits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
    await until("the fence waits", 1_500, async () => (await h.member(2).database.sql(waits))[0]?.Value === "1");
    await creating.rollback();
    await creating.end();
    assert.equal((await fenced).role, "MOVED");
    const rows = await from.rows(epoch, undefined);
    assert.deepEqual(
      rows.map((row) => row.transaction_id),
      [t1],
    );
    const newer = rows.map((row) => ({ ...row, transaction_id: h.nextId(3) }));
    await to.put(epoch, rows);
    await to.step("activate", epoch);
    await assert.rejects(to.put(epoch, newer as typeof rows), StepRefused, "a second mover's late batch");
    assert.equal(await h.pointer(2, key), t1);
    h.home = 2;
    assert.equal((await h.settled(key)).id, t1);
    h.home = HOME;
  });

  test("C11: a bucket that comes back brings its newer pointers with it", async () => {
    const key = keyOfNewBucket();
    const t1 = await h.create(HOME, key);
    const t2 = await h.create(3, key, { failed: [t1] });
    await h.move(key.bucket, HOME, 2);
    h.home = 2;
    assert.equal((await h.settled(key)).id, t2);
    assert.equal(await h.pointer(HOME, key), t1, "the old home's row is stale");
    await h.move(key.bucket, 2, HOME);
    h.home = HOME;
    assert.equal(await h.pointer(HOME, key), t2);
    assert.equal((await h.settled(key)).id, t2);
  });

  test("with handoffs pending a bucket goes there and back, and the mover dies after each step", async () => {
    const key = keyOfNewBucket();
    const d = await h.create(2, key);
    for (const [from, to] of [
      [HOME, 2],
      [2, HOME],
    ] as const) {
      const epoch = h.nextMoveEpoch();
      const clients = [h.bucketClient(from, key.bucket), h.bucketClient(to, key.bucket)] as const;
      for (const dead of ["import", "fence", "page", "activate"]) {
        const run = carryBucket(...clients, epoch, (step) =>
          step === dead ? Promise.reject(new Error("the mover dies")) : Promise.resolve(),
        );
        await run.catch((error: unknown) => assert.match(String(error), /the mover dies/));
      }
      await carryBucket(...clients, epoch, async () => {});
      assert.equal((await clients[1].state()).role, "HOME");
      assert.equal((await clients[0].state()).role, "MOVED");
      h.home = to;
    }
    assert.equal(await h.pointer(HOME, key), d, "its own pending handoff became an index row at the activation");
    assert.equal((await h.settled(key)).id, d);
  });

  test("a bucket of more rows than a page holds is moved whole", async () => {
    const { bucket, mchid } = keyOfNewBucket();
    const rows: unknown[][] = [];
    for (let n = 0; rows.length < 2 * BUCKET_PAGE_ROWS_MAX + 1; n++) {
      const outTradeNo = `page-${n}`;
      if (bucketOf({ mchid, outTradeNo }) !== bucket) continue;
      rows.push([bucket, mchid, outTradeNo, h.nextId(HOME), Buffer.alloc(32, n)]);
    }
    await h.member(HOME).database.sql("INSERT INTO merchant_orders VALUES ?", [rows]);
    let pages = 0;
    await h.move(bucket, HOME, 2, async (step) => {
      if (step === "page") pages += 1;
    });
    assert.equal(pages, 3);
    const content = "SELECT * FROM merchant_orders WHERE bucket = ? ORDER BY mchid, out_trade_no";
    const [old, moved] = [
      await h.member(HOME).database.sql(content, [bucket]),
      await h.member(2).database.sql(content, [bucket]),
    ];
    assert.equal(moved.length, rows.length);
    assert.deepEqual(moved, old);
    const step = h.bucketClient(2, bucket);
    const tooMany = Array.from({ length: BUCKET_PAGE_ROWS_MAX + 1 }, () => ({}) as never);
    await assert.rejects(step.put(1, tooMany), StepRefused, "a longer page is refused");
  });

  test("a stripe that is itself on the move lets no bucket come or go", async () => {
    const { bucket } = keyOfNewBucket();
    await h.member(HOME).database.sql("UPDATE stripe_state SET moving = 1");
    await assert.rejects(h.bucketClient(HOME, bucket).step("fence", h.nextMoveEpoch()), StepRefused);
    await h.member(HOME).database.sql("UPDATE stripe_state SET moving = 0");
    assert.equal((await h.bucketClient(HOME, bucket).state()).role, "HOME");
  });

  test("steps of an earlier move that come late change nothing", async () => {
    const key = keyOfNewBucket();
    const first = await h.move(key.bucket, HOME, 2);
    await h.move(key.bucket, 2, HOME);
    const [a, b] = [h.bucketClient(HOME, key.bucket), h.bucketClient(2, key.bucket)];
    await assert.rejects(a.step("fence", first), StepRefused);
    await assert.rejects(b.step("import", first), StepRefused);
    await assert.rejects(b.step("activate", first), StepRefused);
    assert.deepEqual([(await a.state()).role, (await b.state()).role], ["HOME", "MOVED"]);
  });
});
