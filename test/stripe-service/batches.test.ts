import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { DomainError } from "../../core/errors.ts";
import type { CreateOrder, CreateRefund, PayOrder } from "../../core/schemas/orders.ts";
import { Deadline } from "../../runtime/clock.ts";
import { connect } from "../../runtime/mysql.ts";
import type { AnyAnswer, Operation } from "../../stripe-service/batch/operations.ts";
import { configFrom } from "../../stripe-service/config.ts";
import { Database } from "../../stripe-service/database.ts";
import type { CreateInput } from "../../stripe-service/orders/create-order.ts";
import { freshNo } from "../support/orders-api.ts";
import { StripeHarness, until } from "../support/stripe-harness.ts";
import { TcpRelay } from "../support/tcp-relay.ts";

const WAIT_MAX_MS = 5_000;
const DEADLINE_MS = 4_000;
const CNY = { total: 100, currency: "CNY" };

/** What an operation was answered: the error's code, or the answer. */
type Told = { readonly code: string; readonly error: DomainError } | { readonly code: "OK"; readonly value: AnyAnswer };

describe("operations that wait share a transaction", () => {
  let h: StripeHarness;
  let writer: TcpRelay;
  /** With one batch at a time: whatever comes while one is under way is in the next. */
  let database: Database;
  before(async () => {
    h = await StripeHarness.start({ env: { SWEEP_BATCHES_MAX: "0" } });
    writer = await TcpRelay.start(h.database.target);
    const env = { DB_WRITER_PORT: String(writer.port), BATCH_FLUSHERS: "1", BATCH_QUEUE_MAX: "60" };
    database = new Database(configFrom({ ...h.env(1, env), DB_DEADLINE_MS: "5000", POOL_QUEUE_WAIT_MS: "4000" }));
  });
  after(async () => {
    await database.close();
    await h[Symbol.asyncDispose]();
    await writer[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    writer.commitFault = "none";
    writer.resume();
    await until("writes are taken", WAIT_MAX_MS, async () => (await tell(create())).code === "OK");
  });

  async function tell(op: Operation, deadlineMs = DEADLINE_MS): Promise<Told> {
    try {
      const outcome = await database.groupCommit.run(new Deadline(deadlineMs), op);
      return outcome.ok ? { code: "OK", value: outcome.value } : { code: outcome.error.code, error: outcome.error };
    } catch (error) {
      if (error instanceof DomainError) return { code: error.code, error };
      return { code: "SYSTEM_ERROR", error: new DomainError("SYSTEM_ERROR", String(error)) };
    }
  }

  function create(order: Partial<CreateOrder> = {}, more: Partial<CreateInput> = {}): Operation & { kind: "create" } {
    const wire = h.wire(order);
    const input = {
      transactionId: String(wire.transaction_id),
      bucket: Number(wire.bucket),
      as: "HOME" as const,
      partition: undefined,
      failed: [],
      requestHash: String(wire.request_hash),
      order: wire.order as CreateOrder,
      ...more,
    };
    return { kind: "create", input };
  }

  /** The same create under another number. */
  function again({ input }: { readonly input: CreateInput }): Operation & { kind: "create" } {
    return { kind: "create", input: { ...input, transactionId: h.nextId() } };
  }

  function pay(transactionId: string, body: Partial<PayOrder> = {}): Operation {
    return { kind: "pay", transactionId, pay: { out_pay_no: freshNo("P"), amount: CNY, ...body } };
  }

  const close = (transactionId: string): Operation => ({ kind: "close", transactionId });

  let refundSequence = 0;
  function refund(transactionId: string, amount: number, outRefundNo: string): Operation {
    refundSequence += 1;
    const body: CreateRefund = { out_refund_no: outRefundNo, amount: { refund: amount, ...CNY } };
    const refundId = `5000070101010000${String(refundSequence).padStart(12, "0")}`;
    return { kind: "refund", transactionId, refundId, refund: body };
  }

  const transactions = async (): Promise<number> =>
    Number(
      String(await h.value("SELECT @@gtid_executed"))
        .split("-")
        .at(-1),
    );

  /** Sends everything while a batch is under way, so that it all is in the batch after it, in this order. */
  async function together(...ops: readonly (Operation | readonly [Operation, deadlineMs: number])[]): Promise<Told[]> {
    const { told } = await sendTogether(...ops);
    return Promise.all(told);
  }

  async function sendTogether(
    ...ops: readonly (Operation | readonly [Operation, deadlineMs: number])[]
  ): Promise<{ readonly told: Promise<Told>[] }> {
    writer.hang();
    const first = tell(create());
    await until("a batch is under way", WAIT_MAX_MS, () => database.pools.batch.inUse === 1);
    const told = ops.map((op) => ("kind" in op ? tell(op) : tell(...op)));
    assert.equal(database.groupCommit.waiting, ops.length);
    writer.resume();
    assert.equal((await first).code, "OK");
    return { told };
  }

  const codes = (told: readonly Told[]): string[] => told.map(({ code }) => code);
  const valueOf = (told: Told | undefined): AnyAnswer => {
    assert.equal(told?.code, "OK");
    return (told as Extract<Told, { code: "OK" }>).value;
  };
  const kindsOf = (told: readonly Told[]): string[] =>
    told.map((one) => {
      if (!("value" in one)) return one.code;
      if ("kind" in one.value) return one.value.kind;
      if ("probe_id" in one.value) return one.value.state;
      return one.value.replayed ? "replayed" : "done";
    });

  test("forty creates that wait are one transaction, and each has its own answer", async () => {
    const ops = Array.from({ length: 40 }, (_, i) => create({ description: `tea ${i}` }));
    const start = await transactions();
    const told = await together(...ops);
    assert.equal((await transactions()) - start, 2, "the first alone, then all others");
    for (const [i, { input }] of ops.entries()) {
      const answer = valueOf(told[i]);
      assert.ok("kind" in answer && answer.kind === "created");
      assert.equal(answer.order.transaction_id, input.transactionId);
      assert.deepEqual((await h.api.get(`/orders/${input.transactionId}`)).body, answer.order);
    }
  });

  test("a probe is written and committed with merchants' orders, and a queue that is full has room for it", async () => {
    const probe = { probe_id: randomUUID(), checker: "checker-1" };
    const start = await transactions();
    const full = Array.from({ length: 60 }, () => create());
    const told = await together(...full, { kind: "probe-create", probe });
    assert.equal((await transactions()) - start, 2, "the first alone, then all others");
    assert.deepEqual(kindsOf(told), [...full.map(() => "created"), "OPEN"]);
    assert.equal((await tell({ kind: "probe-close", probeId: probe.probe_id })).code, "OK");
  });

  test("when batches do not get done a probe is not answered either", async () => {
    writer.hang();
    const stuck = tell(create(), 600);
    const probe = { probe_id: randomUUID(), checker: "checker-1" };
    assert.notEqual((await tell({ kind: "probe-create", probe }, 600)).code, "OK");
    assert.notEqual((await stuck).code, "OK");
  });

  test("a duplicate, a conflict, a bad time and a create for elsewhere affect themselves alone", async () => {
    const known = create();
    await tell(known);
    const fresh = create();
    const { order, bucket } = fresh.input;
    const told = await together(
      again(known),
      known,
      fresh,
      again(fresh),
      create({ ...order, description: "coffee" }),
      create({ time_expire: "2199-01-01T00:00:00.000Z" }),
      create({}, { partition: undefined, bucket: (bucket + 1) % 1024, as: "HOME" }),
      create(),
    );
    const kinds = ["replayed", "replayed", "created", "replayed", "OUT_TRADE_NO_USED", "PARAM_ERROR", "created"];
    assert.deepEqual(kindsOf(told), [...kinds, "created"]);
    const conflict = told[4] as Extract<Told, { error: DomainError }>;
    assert.deepEqual(conflict.error.extras.conflict, {
      transaction_id: fresh.input.transactionId,
      fields: ["description"],
    });
    for (const { input } of [fresh, known]) assert.deepEqual(await h.events(input.transactionId), ["ORDER_CREATED"]);
  });

  test("operations on one order happen in the order in which they came", async () => {
    const { transaction_id: id } = await h.created();
    const out_pay_no = freshNo("P");
    const start = await transactions();
    const told = await together(
      pay(id, { amount: { total: 99, currency: "CNY" } }),
      pay(id, { out_pay_no }),
      pay(id, { out_pay_no }),
      pay(id, { out_pay_no: "other" }),
      pay(id, { out_pay_no: "other" }),
      close(id),
      refund(id, 60, "r1"),
      refund(id, 60, "r1"),
      refund(id, 60, "r2"),
      refund(id, 40, "r3"),
    );
    assert.equal((await transactions()) - start, 2);
    const [paid, again_] = ["done", "replayed"];
    const excess = ["ORDER_PAID", "ORDER_PAID", "ORDER_PAID"];
    const refunds = ["done", "replayed", "REFUND_AMOUNT_EXCEEDED", "done"];
    assert.deepEqual(kindsOf(told), ["AMOUNT_MISMATCH", paid, again_, ...excess, ...refunds]);
    const kinds = ["ORDER_CREATED", "ORDER_PAID", "EXCESS_PAYMENT", "REFUND_CREATED", "REFUND_CREATED"];
    assert.deepEqual(await h.events(id), kinds);
    const { body } = await h.api.get(`/orders/${id}`);
    assert.deepEqual([body.version, body.amount.refunding, body.trade_state], [4, 100, "SUCCESS"]);
  });

  test("several results of one refund in one batch: the first final one counts", async () => {
    const { transaction_id: id } = await h.paid();
    const { refund_id: refundId } = (await h.api.refund(id, 30)).body;
    const result = (status: "SUCCESS" | "CLOSED" | "ABNORMAL"): Operation => ({
      kind: "refund-result",
      refundId,
      status,
    });
    const told = await together(result("ABNORMAL"), result("SUCCESS"), result("SUCCESS"), result("CLOSED"));
    assert.deepEqual(kindsOf(told), ["done", "done", "replayed", "REFUND_STATE_CONFLICT"]);
    const order = (await h.api.get(`/orders/${id}`)).body;
    assert.deepEqual([order.trade_state, order.amount.refunded, order.amount.refunding], ["REFUND", 30, 0]);
    assert.equal((await h.api.get(`/refunds/${refundId}`)).body.version, 3);
  });

  test("an operation that the database cannot take fails alone", async () => {
    const poison = freshNo("poison");
    await h.database.sql("SET GLOBAL log_bin_trust_function_creators = 1");
    await h.database.sql(
      `CREATE TRIGGER poison BEFORE INSERT ON orders FOR EACH ROW
       BEGIN IF NEW.out_trade_no = '${poison}' THEN SIGNAL SQLSTATE '45000'; END IF; END`,
    );
    try {
      const ids = [];
      for (let i = 0; i < 10; i++) ids.push((await h.created()).transaction_id);
      const first = ids.map((id) => pay(id));
      const second = ids.map((id) => pay(id));
      const told = await together(create(), ...first, create({ out_trade_no: poison }), ...second, create());
      const [paid, late] = [ids.map(() => "OK"), ids.map(() => "ORDER_PAID")];
      assert.deepEqual(codes(told), ["OK", ...paid, "SYSTEM_ERROR", ...late, "OK"], "and in their order");
      assert.equal(await h.value("SELECT COUNT(*) FROM merchant_orders WHERE out_trade_no = ?", [poison]), 0);
    } finally {
      await h.database.sql("DROP TRIGGER poison");
    }
  });

  test("when COMMIT is not answered, all that was written is unknown, and what needed no write is told", async () => {
    const known = create();
    await tell(known);
    const paid = await h.paid();
    const { transaction_id: id } = await h.created();
    const fresh = create();
    const out_pay_no = freshNo("P");
    const told = together(
      fresh,
      again(fresh),
      pay(id, { out_pay_no }),
      close(id),
      known,
      close(paid.transaction_id),
      pay(paid.transaction_id, { out_pay_no: paid.out_pay_no ?? "" }),
      pay(h.nextId()),
    );
    await until("the batch before it is committed", WAIT_MAX_MS, () => database.groupCommit.waiting === 0);
    writer.commitFault = "cut-after";
    assert.deepEqual(codes(await told), [
      "NOT_DURABLE",
      "NOT_DURABLE",
      "NOT_DURABLE",
      "NOT_DURABLE",
      "OK",
      "ORDER_PAID",
      "OK",
      "ORDER_NOT_EXIST",
    ]);
    writer.commitFault = "none";
    await until("it is known again", WAIT_MAX_MS, async () => kindsOf([await tell(fresh)])[0] === "replayed");
    assert.deepEqual(kindsOf([await tell(pay(id, { out_pay_no }))]), ["replayed"]);
    assert.deepEqual(await h.events(id), ["ORDER_CREATED", "ORDER_PAID"]);
  });

  test("a row in other hands holds up its own operation and no other of the batch", async () => {
    const { transaction_id: held } = await h.created();
    const { transaction_id: free } = await h.created();
    const holder = await connect(h.database.target, WAIT_MAX_MS);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [held]);
    const told = together(pay(held), pay(free), create());
    await until("only the held one is under way", WAIT_MAX_MS, () => {
      const { batch, write } = database.pools;
      return database.groupCommit.waiting === 0 && batch.inUse === 0 && write.inUse === 1;
    });
    assert.equal((await h.api.get(`/orders/${free}`)).body.trade_state, "SUCCESS");
    await holder.rollback();
    await holder.end();
    assert.deepEqual(codes(await told), ["OK", "OK", "OK"]);
  });

  test("what waits behind another operation on a row in other hands is refused when its own time is over", async () => {
    const { transaction_id: held } = await h.created();
    const holder = await connect(h.database.target, WAIT_MAX_MS);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [held]);
    const { told } = await sendTogether(pay(held), [close(held), 600], pay(held));
    assert.equal((await told[1])?.code, "OVERLOADED", "while the first still waits");
    await holder.rollback();
    await holder.end();
    assert.deepEqual(codes(await Promise.all(told)), ["OK", "OVERLOADED", "ORDER_PAID"]);
  });

  test("an operation whose time is over before COMMIT is refused for certain, and the others go on without it", async () => {
    const blocked = create();
    const { mchid, out_trade_no: no } = blocked.input.order;
    const holder = await connect(h.database.target, WAIT_MAX_MS);
    await holder.beginTransaction();
    const row = [blocked.input.bucket, mchid, no, h.nextId(), Buffer.alloc(32)];
    await holder.query("INSERT INTO merchant_orders VALUES (?, ?, ?, ?, ?)", row);
    const hasty = create();
    const { told } = await sendTogether(blocked, [hasty, 600], create());
    assert.equal((await told[1])?.code, "STRIPE_UNAVAILABLE");
    await holder.rollback();
    await holder.end();
    assert.deepEqual(codes(await Promise.all(told)), ["OK", "STRIPE_UNAVAILABLE", "OK"]);
    const written = "SELECT COUNT(*) FROM orders WHERE transaction_id = ?";
    assert.equal(await h.value(written, [hasty.input.transactionId]), 0);
  });

  test("more operations than may wait are refused at once and certainly", async () => {
    writer.hang();
    const first = tell(create());
    await until("a batch is under way", WAIT_MAX_MS, () => database.pools.batch.inUse === 1);
    const waiting = Array.from({ length: 60 }, () => tell(create()));
    assert.deepEqual(codes([await tell(create())]), ["OVERLOADED"]);
    writer.resume();
    assert.deepEqual(new Set(codes(await Promise.all([first, ...waiting]))), new Set(["OK"]));
  });
});
