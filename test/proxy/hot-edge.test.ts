import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { request } from "undici";
import { mintTransactionId } from "../../core/order-number.ts";
import { stripeNo } from "../../core/ids.ts";
import { wallNowMs } from "../../runtime/clock.ts";
import { freshNo } from "../support/orders-api.ts";
import { type RunningProxy, type Stack, startStack } from "./support/stack.ts";

/** Sends a request past the hot edge: Express takes whatever is the least unusual. */
const UNUSUAL = { accept: "application/json, */*;q=0.1" };

interface Told {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

describe("requests that are served ahead of Express", () => {
  let stack: Stack;
  let proxy: RunningProxy;
  before(async () => {
    stack = await startStack();
    proxy = await stack.proxy();
  });
  after(() => stack[Symbol.asyncDispose]());

  async function send(method: "GET" | "POST", path: string, body: string, headers: object): Promise<Told> {
    const answer = await request(`http://127.0.0.1:${proxy.port}${path}`, {
      method,
      headers: {
        "request-id": "same",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ...(method === "POST" ? { "content-type": "application/json" } : {}),
        ...headers,
      },
      body: method === "POST" ? body : null,
    });
    const text = await answer.body.text();
    const { date: _, ...rest } = answer.headers;
    return { status: answer.statusCode, headers: rest, body: JSON.parse(text) };
  }

  async function bothWays(method: "GET" | "POST", path: string, body = ""): Promise<Told> {
    const hot = await send(method, path, body, {});
    const express = await send(method, path, body, UNUSUAL);
    assert.deepEqual(hot, express, `${method} ${path} ${body.slice(0, 80)}`);
    return hot;
  }

  const create = (more: object = {}): string =>
    JSON.stringify({
      mchid: "test-merchant",
      out_trade_no: freshNo(),
      description: "tea 茶",
      amount: { total: 1999, currency: "CNY" },
      ...more,
    });

  test("are answered as Express would answer them, to the header", async () => {
    const body = create();
    const made = await send("POST", "/v1/orders", body, {});
    assert.equal(made.status, 201);
    assert.equal((await bothWays("POST", "/v1/orders", body)).status, 200);
    const id = (made.body as { transaction_id: string }).transaction_id;
    assert.equal((await bothWays("GET", `/v1/orders/${id}`)).status, 200);
    const pay = JSON.stringify({ out_pay_no: "p1", amount: { total: 1999, currency: "CNY" } });
    assert.equal((await send("POST", `/v1/orders/${id}/pay`, pay, {})).status, 200);
    assert.equal((await bothWays("POST", `/v1/orders/${id}/pay`, pay)).status, 200);
  });

  test("are refused as Express would refuse them", async () => {
    const nobody = mintTransactionId(stripeNo(1), wallNowMs(), 99_999_999);
    const unknownStripe = mintTransactionId(stripeNo(77), wallNowMs(), 1);
    const used = create();
    await send("POST", "/v1/orders", used, {});
    const cases: readonly ["GET" | "POST", string, string?][] = [
      ["POST", "/v1/orders", "{"],
      ["POST", "/v1/orders", ""],
      ["POST", "/v1/orders", "[]"],
      ["POST", "/v1/orders", create({ extra: 1 })],
      ["POST", "/v1/orders", create({ mchid: "no spaces", amount: { total: 0, currency: "ZZZ" } })],
      ["POST", "/v1/orders", create().replace("1999", "1999.0")],
      ["POST", "/v1/orders", create({ description: "x".repeat(70_000) })],
      ["POST", "/v1/orders", JSON.stringify({ ...JSON.parse(used), description: "coffee" })],
      ["GET", `/v1/orders/${nobody}`],
      ["GET", `/v1/orders/${unknownStripe}`],
      ["GET", `/v1/orders/${"1".repeat(28)}`],
      ["GET", `/v1/orders/${nobody}?read=replica`],
      ["GET", `/v1/orders/${nobody}?x=1`],
      ["GET", `/v1/orders/${nobody}/pay`],
      ["POST", `/v1/orders/${nobody}/pay`, JSON.stringify({ out_pay_no: "p", amount: { total: 1, currency: "CNY" } })],
      ["POST", `/v1/orders/${nobody}/pay`, "{}"],
      ["POST", `/v1/orders/${"9".repeat(28)}/pay`, "{}"],
    ];
    for (const [method, path, body] of cases) {
      const { status } = await bothWays(method, path, body);
      assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`);
    }
  });

  test("are counted and bounded with all others", async () => {
    const before = await proxy.metric('proxy_requests_total{route="POST /v1/orders"');
    await send("POST", "/v1/orders", create(), {});
    await send("POST", "/v1/orders", create(), UNUSUAL);
    assert.equal((await proxy.metric('proxy_requests_total{route="POST /v1/orders"')) - before, 2);
  });
});
