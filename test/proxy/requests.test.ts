import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { stripeNo } from "../../core/ids.ts";
import { mintRefundId, mintTransactionId } from "../../core/order-number.ts";
import { createBody, freshNo, type OrdersApi, type ProblemBody } from "../support/orders-api.ts";
import { problemIn, sendRaw } from "./support/raw.ts";
import { type RunningProxy, type Stack, startStack, STRIPES, until } from "./support/stack.ts";

let stack: Stack;
let proxy: RunningProxy;
let api: OrdersApi;
before(async () => {
  stack = await startStack();
  proxy = await stack.proxy();
  api = proxy.api;
});
after(() => stack[Symbol.asyncDispose]());

/** Creates that reached any service so far. */
function reached(): number {
  return STRIPES.reduce((sum, stripe) => sum + stack.link(stripe).creates().length, 0);
}

async function refused(
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<ProblemBody & { status: number }> {
  const answer = await fetch(`${api.url}/v1/orders`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  assert.equal(answer.headers.get("content-type"), "application/problem+json; charset=utf-8");
  return (await answer.json()) as ProblemBody & { status: number };
}

function withTotal(token: string): string {
  return JSON.stringify(createBody()).replace(":1999", `:${token}`);
}

describe("bodies", () => {
  test("money must be a plain integer token of 1 … 2^53−1, else 400 with the pointer", async () => {
    const before = reached();
    for (const token of ["19.9", "19.0", "1e3", '"19"', "-0", "0", "-1", "null", "9007199254740992", "[1]", "true"]) {
      const problem = await refused(withTotal(token));
      assert.equal(problem.status, 400, token);
      assert.deepEqual(
        problem.errors?.map(({ pointer }) => pointer),
        ["/amount/total"],
        token,
      );
    }
    assert.equal(reached(), before, "nothing went to a stripe");
    const max = await api.create({ amount: { total: Number.MAX_SAFE_INTEGER, currency: "JPY" } });
    assert.equal(max.status, 201);
    assert.equal(max.body.amount.total, Number.MAX_SAFE_INTEGER);
  });

  test("every fault is named, not only the first", async () => {
    const problem = await refused(
      JSON.stringify({
        mchid: "no spaces",
        out_trade_no: "x".repeat(65),
        amount: { total: 0, currency: "ABC", tax: 1 },
        colour: "red",
      }),
    );
    assert.equal(problem.code, "PARAM_ERROR");
    const pointers = problem.errors?.map(({ pointer }) => pointer).sort();
    assert.deepEqual(pointers, [
      "/amount/currency",
      "/amount/tax",
      "/amount/total",
      "/colour",
      "/description",
      "/mchid",
      "/out_trade_no",
    ]);
    assert.equal(problem.errors?.find(({ pointer }) => pointer === "/description")?.issue, "is required");
    assert.equal(problem.errors?.find(({ pointer }) => pointer === "/colour")?.issue, "unknown member");
  });

  test("faults of the JSON text and of its members are named together", async () => {
    const problem = await refused(
      '{"mchid":"a b","out_trade_no":"x","description":"d","amount":{"total":1.0,"currency":"CNY"},"x":1}',
    );
    assert.deepEqual(
      problem.errors?.map(({ pointer }) => pointer),
      ["/amount/total", "/mchid", "/x"],
    );
  });

  test("unknown members, duplicate keys and anything but an object are 400", async () => {
    const good = JSON.stringify(createBody());
    for (const name of ["__proto__", "constructor", "toString", "Mchid", "mchid "]) {
      const problem = await refused(good.replace("{", `{${JSON.stringify(name)}:1,`));
      assert.deepEqual([problem.status, problem.errors?.[0]?.pointer], [400, `/${name}`]);
    }
    assert.deepEqual((await refused(good.replace("{", '{"mchid":"m",'))).errors, [
      { pointer: "/mchid", issue: "the member appears twice" },
    ]);
    for (const body of ["", " ", "null", "[]", '"x"', "1", "{", `${good}x`, `\ufeff${good}`, "{'a':1}"]) {
      assert.equal((await refused(body)).status, 400, body);
    }
  });

  test("invalid UTF-8, lone surrogates and U+0000 are 400", async () => {
    const [head = "", tail = ""] = JSON.stringify(createBody({ description: "HERE" })).split("HERE");
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
      const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
      assert.equal((await refused(body)).code, "INVALID_REQUEST");
    }
    for (const escape of ["\\ud800", "\\u0000", "a\\udc00b"]) {
      assert.equal((await refused(head + escape + tail)).errors?.[0]?.pointer, "/description");
    }
  });

  test("text comes back byte for byte, and its length is counted in code points", async () => {
    const description = '☕️𠮷👩‍👩‍👧 مرحبا \u200f\u00e9 e\u0301 "\\/\n' + "𠮷".repeat(9);
    const order = await api.created({ description, attach: "" });
    assert.equal(order.description, description);
    assert.equal((await api.order(order.transaction_id)).body.description, description);
    assert.equal((await api.create({ description: "𠮷".repeat(127) })).status, 201);
    assert.equal((await api.create({ description: "𠮷".repeat(128) })).status, 400);
  });

  test("a body of 64 KiB is read, one byte more is 413, announced or not", async () => {
    const body = JSON.stringify(createBody());
    const filled = body + " ".repeat(64 * 1024 - Buffer.byteLength(body));
    assert.equal((await api.post("/v1/orders", filled)).status, 201);
    assert.equal((await refused(`${filled} `)).code, "PAYLOAD_TOO_LARGE");
    const chunked = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const part = `8000\r\n${" ".repeat(0x8000)}\r\n`;
    const answer = await sendRaw(proxy.port, chunked + part + part + part, { complete: /\}$/ });
    assert.match(answer.text, /^HTTP\/1\.1 413 /);
  });

  test("only JSON in UTF-8 that is not encoded otherwise is taken: else 415", async () => {
    const send = (headers: Record<string, string>): Promise<ProblemBody & { status: number }> =>
      refused(JSON.stringify(createBody()), headers);
    for (const type of [
      "text/plain",
      "application/xml",
      "application/json; charset=gbk",
      "application/jsonx",
      "json",
    ]) {
      assert.equal((await send({ "content-type": type })).status, 415, type);
    }
    assert.equal((await send({ "content-encoding": "gzip" })).status, 415);
    for (const type of ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']) {
      assert.equal((await api.post("/v1/orders", createBody(), { "content-type": type })).status, 201, type);
    }
  });

  test("a media type that is given twice is 415, on the hot routes too", async () => {
    const body = JSON.stringify(createBody());
    const { transaction_id: id } = await api.created();
    for (const path of ["/v1/orders", `/v1/orders/${id}/pay`, `/v1/orders/${id}/refunds`]) {
      const head = [`POST ${path} HTTP/1.1`, "Host: x", "Connection: close", `Content-Length: ${body.length}`];
      const types = ["Content-Type: application/json", "Content-Type: text/plain"];
      const { text } = await sendRaw(proxy.port, `${[...head, ...types].join("\r\n")}\r\n\r\n${body}`);
      assert.deepEqual([problemIn(text).status, problemIn(text).code], [415, "UNSUPPORTED_MEDIA_TYPE"], path);
    }
  });

  test("a body that is no object is refused in words that say so", async () => {
    for (const body of ["[]", '"x"', "7", "null"]) {
      const problem = await refused(body);
      assert.deepEqual(
        [problem.status, problem.code, problem.detail],
        [400, "PARAM_ERROR", "the body: must be an object"],
      );
    }
  });

  test("a body that does not come to its end is given up: 408, and nothing went to a stripe", async () => {
    const impatient = await stack.proxy({ limits: { requestArrivalMs: 300 } });
    const before = reached();
    const head =
      "POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{";
    const { text, closed } = await sendRaw(impatient.port, head);
    const problem = problemIn(text);
    assert.deepEqual([problem.status, problem.code, problem.retryable], [408, "REQUEST_TIMEOUT", true]);
    assert.equal(problem.instance, "/v1/orders");
    assert.ok(closed);
    assert.equal(reached(), before);
  });

  test("the time of a payment lies in years in which it can have been made", async () => {
    const { transaction_id: id } = await api.created();
    for (const wrong of [
      "0001-01-01T00:00:00Z",
      "1999-12-31T23:59:59Z",
      "2100-01-01T00:00:00Z",
      "9999-12-31T23:59:59Z",
    ]) {
      const { status, body } = await api.pay(id, { success_time: wrong });
      assert.deepEqual([status, body.code, body.errors?.[0]?.pointer], [400, "PARAM_ERROR", "/success_time"], wrong);
    }
    assert.equal((await api.pay(id, { success_time: "2000-01-01T00:00:00Z" })).status, 200);
  });

  test("a close needs no body; an empty object is one too, a member is not", async () => {
    const [a, b] = [await api.created(), await api.created()];
    const answer = await fetch(`${api.url}/v1/orders/${a.transaction_id}/close`, { method: "POST" });
    assert.equal(answer.status, 200);
    assert.equal((await api.post(`/v1/orders/${b.transaction_id}/close`, { why: "x" })).status, 400);
    assert.equal((await api.close(b.transaction_id)).status, 200);
  });
});

describe("paths, methods and headers", () => {
  test("an unknown path is 404, a known one with another method 405 with Allow", async () => {
    for (const path of ["/", "/v1", "/v1/order", "/V1/orders", "/v1/orders/", "/v1/Orders", "/v2/orders", "/admin"]) {
      const answer = await api.get(path);
      assert.deepEqual([answer.status, answer.body.code], [404, "NOT_FOUND"], path);
    }
    const id = mintTransactionId(stripeNo(1), Date.UTC(2026, 0, 1), 1);
    for (const [method, path, allow] of [
      ["GET", "/v1/orders", "POST"],
      ["DELETE", `/v1/orders/${id}`, "GET, HEAD"],
      ["GET", `/v1/orders/${id}/pay`, "POST"],
      ["PUT", `/v1/orders/${id}/refunds`, "POST, GET, HEAD"],
      ["OPTIONS", "/v1/orders", "POST"],
      ["POST", "/healthz", "GET, HEAD"],
      ["PATCH", "/openapi.json", "GET, HEAD"],
    ] as const) {
      const answer = await fetch(api.url + path, { method });
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, allow], `${method} ${path}`);
      assert.equal(((await answer.json()) as ProblemBody).code, "METHOD_NOT_ALLOWED");
    }
  });

  test("a caller that takes no JSON is told 406", async () => {
    const { transaction_id: id } = await api.created();
    for (const accept of ["text/html", "application/xml;q=1", "application/json;q=0", "image/*"]) {
      assert.equal((await api.get(`/v1/orders/${id}`, { accept })).status, 406, accept);
    }
    for (const accept of ["*/*", "application/*", "text/html, application/json;q=0.1", "APPLICATION/JSON"]) {
      assert.equal((await api.get(`/v1/orders/${id}`, { accept })).status, 200, accept);
    }
  });

  test("query parameters are known ones, each once", async () => {
    const { transaction_id: id, out_trade_no: no } = await api.created();
    for (const path of [
      `/v1/orders/out-trade-no/${no}?mchid=a&mchid=b`,
      `/v1/orders/out-trade-no/${no}?mchid=test-merchant&x=1`,
      `/v1/orders/out-trade-no/${no}`,
      `/v1/orders/out-trade-no/${no}?mchid=`,
      `/v1/orders/out-trade-no/${no}?MCHID=test-merchant`,
      `/v1/orders/${id}?read=primary&read=replica`,
      `/v1/orders/${id}?read=any`,
      `/v1/orders/${id}/history?x`,
    ]) {
      const answer = await api.get(path);
      assert.deepEqual([answer.status, answer.body.code], [400, "PARAM_ERROR"], path);
    }
  });

  test("a path that cannot be decoded is 400", async () => {
    for (const path of ["/v1/orders/%zz", "/v1/orders/%ff", "/v1/orders/out-trade-no/%e0%a4?mchid=m"]) {
      const answer = await sendRaw(proxy.port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      assert.match(answer.text, /^HTTP\/1\.1 400 /, path);
    }
  });

  test("Request-Id is echoed when it is sane, else made; traceparent is passed on to the service", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { "request-id": "my-request.1", traceparent };
    const answer = await api.post("/v1/orders", createBody(), headers);
    assert.equal(answer.headers["request-id"], "my-request.1");
    assert.equal(answer.headers.traceparent, traceparent);
    const [seen] = STRIPES.flatMap((s) => stack.link(s).seen).filter((r) => r.headers["request-id"] === "my-request.1");
    assert.equal(seen?.headers.traceparent, traceparent);
    assert.equal(seen?.headers["stripe-place"], "1");
    assert.ok(Number(seen?.headers["deadline-ms"]) > 0 && Number(seen?.headers["deadline-ms"]) <= 3_000);
    for (const bad of ["with space", "x".repeat(65), "<script>"]) {
      const other = await api.get("/v1/nothing", { "request-id": bad });
      assert.match(String(other.headers["request-id"]), /^[0-9a-f-]{36}$/);
      assert.equal(other.body.request_id, other.headers["request-id"]);
    }
    const zeros = `00-${"0".repeat(32)}-b7ad6b7169203331-01`;
    for (const bad of ["x", "00-1-2-01", traceparent.toUpperCase(), `ff${traceparent.slice(2)}`, zeros]) {
      for (const path of ["/v1/nothing", `/v1/orders/${mintTransactionId(stripeNo(1), Date.UTC(2026, 0, 1), 3)}`]) {
        assert.equal((await api.get(path, { traceparent: bad })).headers.traceparent, undefined, bad);
      }
    }
  });

  test("HEAD answers like GET without a body", async () => {
    const { transaction_id: id } = await api.created();
    const answer = await fetch(`${api.url}/v1/orders/${id}`, { method: "HEAD" });
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), "");
  });
});

describe("numbers", () => {
  test("a number with a wrong digit is 400 before anything is asked", async () => {
    const { transaction_id: id } = await api.created();
    const seen = (): number => STRIPES.reduce((sum, s) => sum + stack.link(s).seen.length, 0);
    const before = seen();
    for (let at = 0; at < id.length; at += 3) {
      const wrong = id.slice(0, at) + String((Number(id[at]) + 1) % 10) + id.slice(at + 1);
      for (const answer of [
        await api.order(wrong),
        await api.pay(wrong),
        await api.get(`/v1/orders/${wrong}/refunds`),
      ]) {
        assert.deepEqual([answer.status, answer.body.code], [400, "PARAM_ERROR"], wrong);
        assert.equal(answer.body.errors?.[0]?.pointer, "transaction_id");
      }
    }
    assert.equal(seen(), before);
  });

  test("a valid number of a stripe that does not exist, or that was never given out, is 404", async () => {
    const at = Date.UTC(2026, 5, 1);
    for (const stripe of [1, 9_999]) {
      const order = await api.order(mintTransactionId(stripeNo(stripe), at, 77));
      assert.deepEqual([order.status, order.body.code], [404, "ORDER_NOT_EXIST"]);
      const refund = await api.get(`/v1/refunds/${mintRefundId(stripeNo(stripe), at, 77)}`);
      assert.deepEqual([refund.status, refund.body.code], [404, "REFUND_NOT_EXIST"]);
    }
    const month95 = "1097089561965016615542198843";
    assert.equal((await api.order(month95)).status, 400, "a month that overflows the century");
  });

  test("an order number is no refund number and the other way round", async () => {
    const at = Date.UTC(2026, 5, 1);
    assert.equal((await api.get(`/v1/refunds/${mintTransactionId(stripeNo(1), at, 1)}`)).status, 400);
    assert.equal((await api.order(mintRefundId(stripeNo(1), at, 1))).status, 400);
  });

  test("merchant numbers are compared byte for byte", async () => {
    const no = freshNo("aB");
    const [a, b] = [
      await api.created({ out_trade_no: no }),
      await api.created({ out_trade_no: no.replace("aB", "Ab") }),
    ];
    assert.notEqual(a.transaction_id, b.transaction_id);
    const wild = await api.created({ out_trade_no: `*|@-_${freshNo()}` });
    const found = await api.get<{ transaction_id: string }>(
      `/v1/orders/out-trade-no/${encodeURIComponent(wild.out_trade_no)}?mchid=test-merchant`,
    );
    assert.equal(found.body.transaction_id, wild.transaction_id);
  });
});

describe("what is not HTTP", () => {
  const post = (extra: string, body = ""): string =>
    `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${extra}\r\n${body}`;

  test("malformed requests get a problem document and their connection is closed", async () => {
    const body = JSON.stringify(createBody());
    for (const bytes of [
      post(`Content-Length: ${body.length}\r\nContent-Length: ${body.length + 1}\r\n`, body),
      post(`Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`, body),
      post("Content-Length: 1x\r\n", body),
      post("Bad Header: 1\r\nContent-Length: 2\r\n", "{}"),
      post(`X-Long: ${"x".repeat(40_000)}\r\nContent-Length: 2\r\n`, "{}"),
      post("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"),
      "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not TLS here",
      "GET /v1/orders\x00/1 HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
    ]) {
      const { text, closed } = await sendRaw(proxy.port, bytes);
      assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/, bytes.slice(0, 120));
      assert.match(text, /content-type: application\/problem\+json/i);
      assert.match(text, /request-id: /i);
      assert.deepEqual([problemIn(text).code, closed], ["INVALID_REQUEST", true]);
    }
  });

  test("a body that is cut off does nothing at all", async () => {
    const before = reached();
    const body = JSON.stringify(createBody());
    const aborted = await proxy.metric('proxy_requests_total{route="POST /v1/orders",status="0"');
    await sendRaw(proxy.port, post(`Content-Length: ${body.length}\r\n`, body.slice(0, -1)), { hangUp: true });
    const gone = async (): Promise<boolean> =>
      (await proxy.metric('proxy_requests_total{route="POST /v1/orders",status="0"')) > aborted;
    await until(gone, "the proxy saw the caller go away");
    assert.equal(reached(), before);
  });

  test("rubbish behind a good request never answers in its place", async () => {
    stack.link(1).inject({ kind: "hang" }, /GET/);
    const id = mintTransactionId(stripeNo(1), Date.UTC(2026, 0, 1), 5);
    const { text } = await sendRaw(proxy.port, `GET /v1/orders/${id} HTTP/1.1\r\nHost: x\r\n\r\nRUBBISH\r\n\r\n`);
    assert.equal(text, "", "the connection is closed without a word");
    await stack.heal();
  });
});

describe("documents and health", () => {
  test("the OpenAPI document describes every endpoint, and each of them exists", async () => {
    const { body } = await api.get<{ openapi: string; paths: Record<string, Record<string, object>> }>("/openapi.json");
    assert.equal(body.openapi, "3.1.0");
    const id = mintTransactionId(stripeNo(9_999), Date.UTC(2026, 0, 1), 1);
    const operations = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((m) => [m, path] as const),
    );
    assert.equal(operations.length, 10);
    const ids = Object.values(body.paths).flatMap((item) =>
      Object.values(item).map((o) => Reflect.get(o, "operationId")),
    );
    assert.equal(new Set(ids.filter((operationId) => typeof operationId === "string")).size, 10);
    for (const [method, path] of operations) {
      const answer = await fetch(api.url + path.replace("{transaction_id}", id), { method: method.toUpperCase() });
      const { code } = (await answer.json()) as ProblemBody;
      assert.ok(!["NOT_FOUND", "METHOD_NOT_ALLOWED"].includes(code), `${method} ${path}: ${code}`);
    }
  });

  test("every reference inside the OpenAPI document resolves", async () => {
    const { body } = await api.get<{ components: { schemas: Record<string, object> } }>("/openapi.json");
    const references = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name ?? "",
    );
    assert.ok(references.length > 20);
    for (const name of references) assert.ok(name in body.components.schemas, name);
  });

  test("the page is complete in itself: no script, nothing loaded from anywhere", async () => {
    const answer = await fetch(`${api.url}/docs`);
    const html = await answer.text();
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.doesNotMatch(html, /<script|<link|<img|src=|@import|url\(|https?:/i);
    for (const word of ["Create an order", "REFUND_AMOUNT_EXCEEDED", "out_trade_no", "POST"])
      assert.ok(html.includes(word));
  });

  test("health, readiness and metrics are there", async () => {
    assert.equal((await api.get("/healthz")).status, 200);
    const ready = await api.get<{ routing_table_from: string }>("/readyz");
    assert.deepEqual([ready.status, ready.body.routing_table_from], [200, "control database"]);
    assert.ok((await proxy.metric("proxy_requests_total{")) > 0);
    assert.ok((await proxy.metric("proxy_routing_table_version")) >= 2);
  });
});
