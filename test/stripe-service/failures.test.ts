import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { bucketOf } from "../../core/placement.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { connect } from "../../runtime/mysql.ts";
import {
  atOnce,
  type StripeAnswer,
  type StripeClient,
  StripeHarness,
  tally,
  until,
} from "../support/stripe-harness.ts";
import { TcpRelay } from "../support/tcp-relay.ts";

const RECOVERY_MAX_MS = 8_000;
const DEADLINE_MS = 2_500;
/** A slow machine's allowance on top of a bound. */
const SLACK_MS = 1_000;

interface Timed {
  readonly answer: StripeAnswer;
  readonly ms: number;
}

async function timed(work: Promise<StripeAnswer>): Promise<Timed> {
  const start = monotonicMs();
  const answer = await work;
  return { answer, ms: monotonicMs() - start };
}

describe("failures of the database", () => {
  let h: StripeHarness;
  let writer: TcpRelay;
  let api: StripeClient;
  before(async () => {
    h = await StripeHarness.start({ env: { SWEEP_BATCHES_MAX: "0" } });
    writer = await TcpRelay.start(h.database.target);
    api = await h.addInstance({ DB_WRITER_PORT: String(writer.port), SWEEP_BATCHES_MAX: "0" });
  });
  after(async () => {
    await h[Symbol.asyncDispose]();
    await writer[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    writer.commitFault = "none";
    writer.resume();
    await until("the writer is used again", RECOVERY_MAX_MS, async () => {
      const { transaction_id: id } = await h.created();
      return (
        (await api.pay(id)).status === 200 && (await api.get(`/orders/${id}`)).headers["read-source"] === "primary"
      );
    });
  });

  const written = (id: unknown) => h.value("SELECT COUNT(*) FROM orders WHERE transaction_id = ?", [id]);

  test("when the connection dies in COMMIT the outcome is told unknown, and a retry finds out", async () => {
    for (const [fault, status] of [
      ["cut-after", 200],
      ["cut-before", 201],
    ] as const) {
      const wire = h.wire();
      writer.commitFault = fault;
      const lost = await api.post("/orders", wire);
      assert.deepEqual([lost.status, lost.body.code, lost.body.retryable], [503, "NOT_DURABLE", true]);
      writer.commitFault = "none";
      assert.equal((await api.post("/orders", wire)).status, status, fault);
      assert.equal(await written(wire.transaction_id), 1);
    }
  });

  test("a COMMIT that hangs is answered unknown within the caller's deadline", async () => {
    const wire = h.wire();
    writer.commitFault = "hold-answer";
    const { answer, ms } = await timed(api.post("/orders", wire, { "deadline-ms": "700" }));
    assert.deepEqual([answer.status, answer.body.code], [503, "NOT_DURABLE"]);
    assert.ok(ms < 700 + SLACK_MS, `${ms} ms`);
    writer.commitFault = "none";
    assert.equal((await api.post("/orders", wire)).status, 200);
  });

  test("while commits are stuck all waits are bounded, later requests are refused at once, and nothing piles up", async () => {
    writer.commitFault = "hold-answer";
    const start = monotonicMs();
    const first = atOnce(80, () => timed(api.post("/orders", h.wire())));
    await until("commits are stuck", DEADLINE_MS, () => writer.commitFaults >= 1);
    await until("new writes are refused", DEADLINE_MS, async () => {
      const { answer, ms } = await timed(api.post("/orders", h.wire(), { "deadline-ms": "300" }));
      return ["STRIPE_UNAVAILABLE", "OVERLOADED"].includes(answer.body.code) && ms < 100;
    });
    let [quick, all] = [0, 0];
    while (monotonicMs() - start < 3_000) {
      const { answer, ms } = await timed(api.post("/orders", h.wire(), { "deadline-ms": "500" }));
      assert.equal(answer.status, 503);
      all += 1;
      if (ms < 100) quick += 1;
    }
    assert.ok(quick / all > 0.8, `${quick} of ${all} were quick`);
    for (const { answer, ms } of await first) {
      assert.equal(answer.status, 503);
      assert.ok(ms < DEADLINE_MS + SLACK_MS, `${ms} ms`);
    }
    assert.ok(writer.connections <= 24 + 8, `${writer.connections} connections`);
    writer.commitFault = "none";
    await until(
      "writes are taken again",
      RECOVERY_MAX_MS,
      async () => (await api.post("/orders", h.wire())).status === 201,
    );
  });

  test("with the writer dead writes are certainly refused, reads come from a replica, look-ups are not answered", async () => {
    const paid = await h.paid();
    const id = paid.transaction_id;
    const { refund_id: refundId } = (await h.api.refund(id, 10)).body;
    const wire = h.wire();
    const port = await writer.die();
    const writes = [await api.post("/orders", wire), await api.pay(id), await api.close(id), await api.refund(id, 1)];
    assert.deepEqual(tally(writes), { "503 STRIPE_UNAVAILABLE": 4 });
    assert.equal(await written(wire.transaction_id), 0);
    for (const path of [`/orders/${id}`, `/refunds/${refundId}`, `/orders/${id}/refunds`, `/orders/${id}/history`]) {
      const { status, headers } = await api.get(path);
      assert.deepEqual([status, headers["read-source"]], [200, "replica"], path);
      assert.match(String(headers["read-lag-ms"]), /^[0-9]+$/);
    }
    const missing = [await api.get(`/orders/${h.nextId()}`), await api.get(`/orders/${h.nextId()}?read=replica`)];
    missing.push(
      await api.get(
        `/lookup?mchid=m1&out_trade_no=${paid.out_trade_no}&bucket=${bucketOf({ mchid: paid.mchid, outTradeNo: paid.out_trade_no })}&in=index`,
      ),
    );
    assert.deepEqual(tally(missing), { "503 STRIPE_UNAVAILABLE": 3 });
    await writer.listen(port);
  });

  test("with the writer hung the first reads wait for the limit, later ones do not", async () => {
    const { transaction_id: id } = await h.paid();
    writer.hang();
    const slow = await timed(api.get(`/orders/${id}`));
    assert.equal(slow.answer.headers["read-source"], "replica");
    assert.ok(slow.ms >= 750 && slow.ms < 800 + SLACK_MS, `${slow.ms} ms`);
    await atOnce(5, () => api.get(`/orders/${id}`));
    const times = await atOnce(20, () => timed(api.get(`/orders/${id}`)));
    assert.deepEqual(new Set(times.map(({ answer }) => answer.headers["read-source"])), new Set(["replica"]));
    assert.ok(times.filter(({ ms }) => ms > 300).length <= 1, times.map(({ ms }) => Math.round(ms)).join());
    const write = await timed(api.pay(id));
    assert.equal(write.answer.body.code, "STRIPE_UNAVAILABLE");
    assert.ok(write.ms < DEADLINE_MS + SLACK_MS);
  });

  test("sessions that were cut while idle are replaced without any request failing", async () => {
    await atOnce(10, () => api.post("/orders", h.wire()));
    await writer.listen(await writer.die());
    const answers = await atOnce(10, () => api.post("/orders", h.wire()));
    assert.deepEqual(tally(answers), { "201": 10 });
  });

  test("a source that has become read-only refuses for certain, and is not asked to decide anything", async () => {
    const paid = await h.paid();
    const id = paid.transaction_id;
    const wire = h.wire();
    await api.post("/orders", wire);
    await h.database.sql("SET GLOBAL super_read_only = ON");
    try {
      const answers = [
        await api.post("/orders", h.wire()),
        await api.post("/orders", wire),
        await api.pay(id, { out_pay_no: paid.out_pay_no }),
      ];
      assert.deepEqual(tally(answers), { "503 STRIPE_READ_ONLY": 3 });
      const read = await api.get(`/orders/${id}`);
      assert.deepEqual([read.status, read.headers["read-source"]], [200, "replica"]);
      await until("it is not ready", RECOVERY_MAX_MS, async () => (await fetch(`${api.url}/readyz`)).status === 503);
    } finally {
      await h.database.sql("SET GLOBAL super_read_only = OFF");
      await h.database.sql("SET GLOBAL read_only = OFF");
    }
    await until("it is ready", RECOVERY_MAX_MS, async () => (await fetch(`${api.url}/readyz`)).status === 200);
  });

  test("a writable server whose epoch is not acknowledged yet decides nothing", async () => {
    const { transaction_id: id } = await h.paid();
    await h.database.sql("UPDATE ha.epoch SET opened_at = opened_at - INTERVAL 1 HOUR");
    await writer.listen(await writer.die());
    assert.equal((await api.pay(id)).body.code, "STRIPE_READ_ONLY");
    assert.equal((await api.get(`/orders/${id}`)).headers["read-source"], "replica");
    await h.database.sql("UPDATE ha.epoch SET opened_at = opened_at + INTERVAL 1 HOUR");
    assert.equal((await h.api.pay(id)).body.code, "ORDER_PAID");
  });

  test("a row that somebody holds too long ends in a certain refusal", async () => {
    const { transaction_id: id } = await h.created();
    const holder = await connect(h.database.target, 5_000);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [id]);
    const { answer, ms } = await timed(api.pay(id, {}));
    assert.equal(answer.status, 503);
    assert.ok(["STRIPE_UNAVAILABLE", "OVERLOADED"].includes(answer.body.code));
    assert.ok(ms < DEADLINE_MS + SLACK_MS, `${ms} ms`);
    await holder.rollback();
    await holder.end();
    assert.deepEqual(await h.events(id), ["ORDER_CREATED"]);
    assert.equal((await api.pay(id)).status, 200);
  });
});

describe("overload", () => {
  test("more writes than connections and queue places are refused at once and certainly", async () => {
    await using h = await StripeHarness.start({
      env: { WRITE_POOL_MAX: "2", POOL_QUEUE_MAX: "3", RESOLVER_PARALLEL_MAX: "1", SWEEP_BATCHES_MAX: "0" },
    });
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await h.created()).transaction_id);
    const holder = await connect(h.database.target, 5_000);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders FOR UPDATE");
    const pay = (i: number, no: string) => h.api.pay(ids[i] ?? "", { out_pay_no: no });
    const waiting = atOnce(5, (i) => pay(i, "p1"));
    await until("two hold a connection and three wait", 800, async () => {
      const text = await (await fetch(`${h.api.url}/metrics`)).text();
      return /^stripe_pool_waiting\{pool="write".*\} 3$/m.test(text);
    });
    const refused = await atOnce(5, (i) => timed(pay(i, "p2")));
    assert.deepEqual(tally(refused.map(({ answer }) => answer)), { "503 OVERLOADED": 5 });
    assert.equal(refused[0]?.answer.headers["retry-after"], "1");
    assert.ok(Math.max(...refused.map(({ ms }) => ms)) < SLACK_MS);
    await holder.rollback();
    await holder.end();
    assert.deepEqual(tally(await waiting), { "200": 5 });
  });
});
