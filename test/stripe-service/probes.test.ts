import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { StripeRow } from "../../core/routing-table.ts";
import { Prober } from "../../health-checker/verdicts/prober.ts";
import { connect } from "../../runtime/mysql.ts";
import { StripeHarness, until } from "../support/stripe-harness.ts";

describe("probes and first homes in a stripe", () => {
  let stripe: StripeHarness;
  before(async () => {
    stripe = await StripeHarness.start({ homeBuckets: [1, 2] });
  });
  after(async () => {
    await stripe[Symbol.asyncDispose]();
  });

  const probe = () => ({ probe_id: randomUUID(), checker: "checker-1" });

  test("a probe is created, read and closed once, in a table of its own and without a trace in the journal", async () => {
    const events = await stripe.value("SELECT COUNT(*) FROM order_events");
    const body = probe();
    const steps = [
      await stripe.api.byHop("POST", "/probes", body),
      await stripe.api.byHop("POST", "/probes", body),
      await stripe.api.byHop("GET", `/probes/${body.probe_id}`),
      await stripe.api.byHop("POST", `/probes/${body.probe_id}/close`),
      await stripe.api.byHop("POST", `/probes/${body.probe_id}/close`),
      await stripe.api.byHop("GET", `/probes/${body.probe_id}`),
    ];
    assert.deepEqual(
      steps.map((s) => [s.status, s.body.state, s.body.version]),
      [
        [200, "OPEN", 1],
        [200, "OPEN", 1],
        [200, "OPEN", 1],
        [200, "CLOSED", 2],
        [200, "CLOSED", 2],
        [200, "CLOSED", 2],
      ],
    );
    assert.equal(await stripe.value("SELECT COUNT(*) FROM order_events"), events);
    assert.equal(await stripe.value("SELECT COUNT(*) FROM orders"), 0);
  });

  test("probes that are a minute old are removed by those that follow", async () => {
    await stripe.database.sql("UPDATE probe_orders SET create_time = UTC_TIMESTAMP(3) - INTERVAL 61 SECOND");
    const body = probe();
    await stripe.api.byHop("POST", "/probes", body);
    await stripe.api.byHop("POST", `/probes/${body.probe_id}/close`);
    const left = await stripe.database.sql("SELECT probe_id FROM probe_orders");
    assert.deepEqual(left, [{ probe_id: body.probe_id }]);
  });

  test("a close whose row is in other hands waits for it alone", async () => {
    const body = probe();
    await stripe.api.byHop("POST", "/probes", body);
    const other = await connect(stripe.database.target, 5_000);
    await other.query("BEGIN");
    await other.query("SELECT 1 FROM probe_orders WHERE probe_id = ? FOR UPDATE", [body.probe_id]);
    const closing = stripe.api.byHop("POST", `/probes/${body.probe_id}/close`);
    const order = stripe.wire({}, { as: "JUMP" });
    assert.equal((await stripe.api.post("/orders", order)).status, 201, "merchants do not wait for it");
    await other.query("ROLLBACK");
    await other.end();
    assert.deepEqual([(await closing).status, (await closing).body.state], [200, "CLOSED"]);
  });

  /** Every batch begins by reading this row, so none gets on while another has it. */
  async function standstill(): Promise<{ readonly ends: () => Promise<void> }> {
    const other = await connect(stripe.database.target, 5_000);
    await other.query("BEGIN");
    await other.query("SELECT 1 FROM stripe_state FOR UPDATE");
    return {
      ends: async () => {
        await other.query("ROLLBACK");
        await other.end();
      },
    };
  }

  test("while batches do not get done a probe fails in its time, and passes as soon as they do", async () => {
    const prober = new Prober("checker-1");
    const row = { stripe: 7, place: 1, services: [stripe.api.url] } as unknown as StripeRow;
    assert.equal((await prober.probe(row, 1, 2_000)).outcome, "ok");
    const { ends } = await standstill();
    const { ok, outcome, ms } = await prober.probe(row, 1, 300);
    assert.equal(ok, false);
    assert.match(outcome, /^create: (timeout|status 50[34])$/);
    assert.ok(ms < 2_000, `${ms} ms`);
    await ends();
    await until("a probe passes", 5_000, async () => (await prober.probe(row, 1, 2_000)).ok);
    prober.close();
  });

  test("probes that wait have a maximum; merchants' requests are in the queue behind them", async () => {
    const one = await stripe.addInstance({ BATCH_FLUSHERS: "1" });
    const { ends } = await standstill();
    const first = one.post("/probes", probe());
    await until("the only batch is under way", 5_000, async () => {
      const waiting = "info LIKE '%stripe_state%FOR SHARE%' AND id <> CONNECTION_ID()";
      return (await stripe.value(`SELECT COUNT(*) FROM information_schema.processlist WHERE ${waiting}`)) === 1;
    });
    const more = Array.from({ length: 40 }, () => one.post("/probes", probe()));
    const refused = await Promise.race([...more, first]);
    assert.deepEqual([refused.status, refused.body.code], [503, "OVERLOADED"]);
    const order = one.post("/orders", stripe.wire({}, { as: "JUMP" }));
    await ends();
    const statuses = (await Promise.all([first, ...more])).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 503).length, 8);
    assert.equal(statuses.filter((status) => status === 200).length, 33);
    assert.equal((await order).status, 201);
  });

  test("an unknown probe is 404, a malformed one 400, a stripe that takes no writes 421", async () => {
    assert.equal((await stripe.api.byHop("GET", `/probes/${randomUUID()}`)).status, 404);
    assert.equal((await stripe.api.byHop("POST", `/probes/${randomUUID()}/close`)).status, 404);
    assert.equal((await stripe.api.byHop("GET", "/probes/x")).status, 400);
    assert.equal((await stripe.api.byHop("POST", "/probes", { probe_id: "x", checker: "c" })).status, 400);
    await stripe.database.sql("UPDATE stripe_state SET accepts_writes = 0");
    assert.equal((await stripe.api.byHop("POST", "/probes", probe())).status, 421);
    await stripe.database.sql("UPDATE stripe_state SET accepts_writes = 1");
  });

  test("a stripe that takes no new orders is probed all the same", async () => {
    await stripe.database.sql("UPDATE stripe_state SET accepts_creates = 0");
    assert.equal((await stripe.api.byHop("POST", "/probes", probe())).status, 200);
    await stripe.database.sql("UPDATE stripe_state SET accepts_creates = 1");
  });

  test("callers who take the stripe to be in another partition are misdirected; those who do not say are served", async () => {
    const state = { accepts_creates: true, accepts_writes: true, routing_version: 7 };
    assert.equal((await stripe.api.call("PUT", "/stripe-state", { ...state, partition: "vip" })).status, 200);
    assert.equal((await stripe.api.get("/stripe-state")).body.partition, "vip");
    await stripe.api.call("PUT", "/stripe-state", { ...state, routing_version: 8 });
    assert.equal((await stripe.api.get("/stripe-state")).body.partition, "vip", "kept when it is not named");
    const create = (as: string, headers: Record<string, string>) =>
      stripe.api.post("/orders", stripe.wire({}, { as }), headers);
    for (const as of ["HOME", "JUMP"]) {
      const answer = await create(as, { "stripe-partition": "standard" });
      assert.deepEqual([answer.status, answer.body.code], [421, "MISDIRECTED"]);
    }
    assert.equal((await create("JUMP", { "stripe-partition": "vip" })).status, 201);
    assert.equal((await create("JUMP", {})).status, 201);
    const lookup = await stripe.api.get(`/lookup?mchid=m1&out_trade_no=no-0&bucket=1&in=index`);
    assert.equal(lookup.status, 400, "the bucket of another number");
    assert.equal((await create("JUMP", { "stripe-partition": "no such name!" })).status, 400);
  });

  test("first homes are taken under the stripe's own partition only, once, and never one that is being moved here", async () => {
    await stripe.database.sql("INSERT INTO bucket_state VALUES (3, 'MOVED', 5), (4, 'IMPORTING', 6)");
    const take = (partition: string, buckets: number[]) => stripe.api.post("/first-homes", { partition, buckets });
    assert.deepEqual([(await take("standard", [10])).status, (await take("vip", [4, 10])).status], [409, 409]);
    assert.deepEqual((await take("vip", [1, 3, 10])).body, { taken: 2 });
    assert.deepEqual((await take("vip", [1, 3, 10])).body, { taken: 0 });
    assert.deepEqual((await stripe.api.get("/home-buckets")).body.buckets, [1, 2, 3, 10]);
    const rows = await stripe.database.sql(
      "SELECT bucket, move_epoch FROM bucket_state WHERE role = 'HOME' ORDER BY bucket",
    );
    assert.deepEqual(
      rows.map((r) => [r.bucket, r.move_epoch]),
      [
        [1, 0],
        [2, 0],
        [3, 5],
        [10, 0],
      ],
      "a bucket that was left keeps the epoch of the move that took it away",
    );
  });
});
