import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { HttpCalls, NoAnswer } from "../../runtime/http-calls.ts";

const BYTES_MAX = 1_000;
const calls = new HttpCalls(2, BYTES_MAX);
const stop = new AsyncDisposableStack();
after(async () => {
  calls.close();
  await stop.disposeAsync();
});

/** @returns the URL of a server of its own */
async function serving(answer: RequestListener): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  const server = createServer(answer).on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stop.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, connections: () => connections };
}

async function failure(url: string, deadlineMs: number): Promise<NoAnswer> {
  try {
    await calls.call({ method: "GET", url, deadlineMs });
  } catch (error) {
    assert.ok(error instanceof NoAnswer, String(error));
    return error;
  }
  throw new Error("it was answered");
}

test("calls one after another share a connection, and bodies arrive whole both ways", async () => {
  const { url, connections } = await serving((request, response) => {
    request.setEncoding("utf8");
    let body = "";
    request.on("data", (text: string) => (body += text));
    request.on("end", () => response.writeHead(418).end(`${request.method ?? ""} ${body}`));
  });
  for (const body of ["一杯茶", "x".repeat(500)]) {
    const answer = await calls.call({ method: "POST", url, body, deadlineMs: 5_000 });
    assert.deepEqual(answer, { status: 418, text: `POST ${body}` });
  }
  assert.equal(connections(), 1);
});

test("a neighbour that does not answer, or does not end its answer, costs the deadline and no more", async () => {
  const silent = await serving(() => {});
  assert.equal((await failure(silent.url, 50)).late, true);
  const endless = await serving((_, response) => void response.write("x"));
  assert.equal((await failure(endless.url, 50)).late, true);
});

test("a refused connection, an answer cut off and one that is too long are no answers, and not late", async () => {
  const { url } = await serving((request, response) => {
    if (request.url === "/cut") response.writeHead(200, { "content-length": "100" }).write("x");
    if (request.url === "/cut") return void setImmediate(() => response.destroy());
    response.end("x".repeat(BYTES_MAX + 1));
  });
  assert.equal((await failure(`${url}cut`, 5_000)).late, false);
  assert.match((await failure(url, 5_000)).message, /longer than 1000 bytes/);
  assert.equal((await failure("http://127.0.0.1:9/", 5_000)).late, false);
});
