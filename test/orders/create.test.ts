import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { parseTransactionId } from "../../core/order-number.ts";
import { atOnce, createBody, freshNo, OrdersApi } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

describe("creating orders", () => {
  let api: OrdersApi;
  let second: OrdersApi;
  before(async () => {
    const cluster = await sharedCluster();
    api = new OrdersApi(cluster.url);
    second = new OrdersApi(cluster.file().proxies.at(-1)?.url ?? cluster.url);
  });

  test("a new order is NOTPAY, payable, at version 1, and expires two hours after it was made", async () => {
    const order = await api.created();
    assert.equal(order.trade_state, "NOTPAY");
    assert.equal(order.payable, true);
    assert.equal(order.version, 1);
    assert.deepEqual(order.amount, { total: 1999, currency: "CNY", refunded: 0, refunding: 0, refundable: 0 });
    assert.equal(Date.parse(order.time_expire) - Date.parse(order.create_time), 2 * 3600 * 1000);
    assert.doesNotThrow(() => parseTransactionId(order.transaction_id));
  });

  test("50 identical creates at once give one 201 and 49 replays of the same order, from two proxies", async () => {
    const body = createBody();
    const answers = await atOnce(50, (i) =>
      (i % 2 === 0 ? api : second).post<{ transaction_id: string }>("/v1/orders", body),
    );
    assert.equal(answers.filter((a) => a.status === 201).length, 1);
    const replays = answers.filter((a) => a.status === 200);
    assert.equal(replays.length, 49);
    for (const replay of replays) assert.equal(replay.headers["idempotent-replayed"], "true");
    assert.equal(new Set(answers.map((a) => a.body.transaction_id)).size, 1);
  });

  test("100 concurrent identical creates of several numbers never answer an error", async () => {
    const bodies = [...Array(4).keys()].map(() => createBody());
    const answers = await atOnce(100, (i) => api.post<{ transaction_id: string }>("/v1/orders", bodies[i % 4] ?? {}));
    assert.deepEqual(
      [...new Set(answers.map((a) => a.status))].sort((a, b) => a - b),
      [200, 201],
    );
    assert.equal(new Set(answers.map((a) => a.body.transaction_id)).size, 4);
  });

  test("a number used with other content is refused, naming each member that differs and the order it names", async () => {
    const body = createBody();
    const first = await api.post<{ transaction_id: string }>("/v1/orders", body);
    const other = await api.post("/v1/orders", {
      ...body,
      description: "coffee",
      amount: { total: 1998, currency: "CNY" },
    });
    assert.equal(other.status, 409);
    assert.equal(other.body.code, "OUT_TRADE_NO_USED");
    assert.deepEqual(other.body.conflict?.fields, ["description", "amount.total"]);
    assert.equal(other.body.conflict?.transaction_id, first.body.transaction_id);
  });

  test("merchant numbers are compared byte for byte: aB1 is not Ab1", async () => {
    const stem = freshNo();
    const a = await api.created({ out_trade_no: `${stem}aB1` });
    const b = await api.created({ out_trade_no: `${stem}Ab1` });
    assert.notEqual(a.transaction_id, b.transaction_id);
    const c = await api.created({ mchid: "Shop", out_trade_no: stem });
    const d = await api.created({ mchid: "shop", out_trade_no: stem });
    assert.notEqual(c.transaction_id, d.transaction_id);
  });

  test("the same instant in other zones is the same request, and is stored in UTC cut to milliseconds", async () => {
    const at = new Date(Date.now() + 3600_000);
    const inZone = (hours: number, suffix: string, fraction: string): string =>
      `${new Date(at.getTime() + hours * 3600_000).toISOString().slice(0, 19)}${fraction}${suffix}`;
    const body = createBody({ time_expire: inZone(8, "+08:00", ".1239") });
    const first = await api.post<{ transaction_id: string; time_expire: string }>("/v1/orders", body);
    assert.equal(first.status, 201);
    assert.equal(first.body.time_expire, `${at.toISOString().slice(0, 19)}.123Z`);
    for (const time_expire of [inZone(0, "Z", ".1235"), inZone(-3.5, "-03:30", ".1230001")]) {
      const again = await api.post<{ transaction_id: string }>("/v1/orders", { ...body, time_expire });
      assert.equal(again.status, 200);
      assert.equal(again.body.transaction_id, first.body.transaction_id);
    }
  });

  test("a time without an offset, and one that does not exist, are refused", async () => {
    for (const time_expire of [
      "2030-01-01T00:00:00",
      "2030-02-30T00:00:00Z",
      "2030-01-01T00:00:00+24:00",
      "tomorrow",
    ]) {
      const answer = await api.create({ time_expire });
      assert.equal(answer.status, 400, time_expire);
      assert.equal(answer.body.errors?.[0]?.pointer, "/time_expire");
    }
  });

  test("time_expire must lie between one minute and 90 days ahead", async () => {
    const inSeconds = (s: number): string => new Date(Date.now() + s * 1000).toISOString();
    for (const s of [-10, 30, 91 * 86_400])
      assert.equal((await api.create({ time_expire: inSeconds(s) })).status, 400, `${s} s`);
    for (const s of [90, 89 * 86_400])
      assert.equal((await api.create({ time_expire: inSeconds(s) })).status, 201, `${s} s`);
  });

  test("text comes back byte for byte: emoji, rare hanzi, right-to-left, and the longest allowed", async () => {
    for (const description of [
      "☕️𠮷👩‍👩‍👧",
      "قهوة بالحليب ‏٢",
      " leading and trailing ",
      "𠮷".repeat(127),
      '\ttab \\ " quote',
    ]) {
      const order = await api.created({ description, attach: description });
      const read = await api.order(order.transaction_id);
      assert.equal(read.body.description, description);
      assert.equal(read.body.attach, description);
    }
    assert.equal((await api.create({ description: "𠮷".repeat(128) })).status, 400);
    assert.equal((await api.create({ attach: "x".repeat(129) })).status, 400);
  });

  test("2^53−1 minor units come back exactly; 2^53 is refused", async () => {
    const amount = { total: Number.MAX_SAFE_INTEGER, currency: "CNY" };
    const order = await api.created({ amount });
    assert.equal((await api.order(order.transaction_id)).body.amount.total, 9007199254740991);
    const body = JSON.stringify(createBody()).replace("1999", "9007199254740992");
    const refused = await api.post("/v1/orders", body);
    assert.equal(refused.status, 400);
    assert.equal(refused.body.errors?.[0]?.pointer, "/amount/total");
  });

  test("an order can be read by either number right after its 201, through any proxy", async () => {
    for (let i = 0; i < 20; i++) {
      const order = await api.created();
      const { transaction_id: id, mchid, out_trade_no } = order;
      assert.equal((await second.order(id)).status, 200);
      const found = await second.get<{ transaction_id: string }>(
        `/v1/orders/out-trade-no/${out_trade_no}?mchid=${mchid}`,
      );
      assert.equal(found.status, 200);
      assert.equal(found.body.transaction_id, id);
    }
  });

  test("no id is ever a number in an answer", async () => {
    const order = await api.paidOrder();
    const refund = await api.refund(order.transaction_id, 1);
    const history = await api.history(order.transaction_id);
    const check = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if (/(_id|_no|^id|^seq)$/.test(key)) assert.ok(inner === null || typeof inner === "string", `${path}.${key}`);
        check(inner, `${path}.${key}`);
      }
    };
    for (const body of [order, refund.body, history]) check(body, "");
  });
});
