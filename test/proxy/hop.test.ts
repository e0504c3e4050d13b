import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { HOP_PROTOCOL } from "../../core/hop.ts";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { Hop } from "../../runtime/hop/hop.ts";
import type { WireOutcome, WireRequest } from "../../runtime/hop/wire-outcome.ts";
import { connect } from "../../runtime/mysql.ts";
import { type Child, startChild } from "../support/child.ts";
import { atOnce, StripeHarness, until } from "../support/stripe-harness.ts";

const CONNECT_MS = 1_000;
const CALL_MS = 5_000;
const WAIT_MAX_MS = 20_000;

describe("the hop", () => {
  let h: StripeHarness;
  let child: Child;
  let url: string;
  let hop: Hop;
  before(async () => {
    h = await StripeHarness.start({ instances: 0 });
    await restart();
  });
  after(async () => {
    hop.destroy();
    child.process.kill("SIGKILL");
    await child.exited;
    await h[Symbol.asyncDispose]();
  });

  async function restart(): Promise<void> {
    const port = await kernelPort();
    url = `http://127.0.0.1:${port}`;
    child = startChild("stripe-service/main.ts", { ...h.env(port), LOG_LEVEL: "warn" });
    await until("the service is ready", WAIT_MAX_MS, async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      return answer?.ok === true;
    });
    hop = new Hop(url, CONNECT_MS);
  }

  const post = (path: string, body: unknown, headers: Record<string, string> = {}): WireRequest => ({
    method: "POST",
    path,
    headers: { "stripe-place": "1", "request-id": "r-1", ...headers },
    body: JSON.stringify(body),
  });
  const create = (headers?: Record<string, string>): WireRequest => post("/orders", h.wire(), headers);
  const pay = (id: string): WireRequest =>
    post(`/orders/${id}/pay`, { out_pay_no: "p1", amount: { total: 100, currency: "CNY" } });
  const codeOf = (outcome: WireOutcome): unknown =>
    outcome.kind === "answer" ? outcome.status : `${outcome.kind} ${outcome.reason}`;
  const bodyOf = (outcome: WireOutcome) => {
    assert.equal(outcome.kind, "answer");
    return JSON.parse(String((outcome as Extract<WireOutcome, { kind: "answer" }>).body));
  };

  test("two hundred calls at once go over one connection, and each gets its own answer", async () => {
    const wires = Array.from({ length: 200 }, () => h.wire());
    const outcomes = await Promise.all(wires.map((wire) => hop.call(post("/orders", wire), CALL_MS)));
    for (const [i, outcome] of outcomes.entries()) {
      assert.equal(codeOf(outcome), 201);
      assert.equal(bodyOf(outcome).transaction_id, wires[i]?.transaction_id);
    }
    const again = await hop.call(post("/orders", wires[0]), CALL_MS);
    assert.equal(again.kind === "answer" && again.headers["idempotent-replayed"], "true");
  });

  test("each call has its own place, deadline, and trace", async () => {
    const outcomes = await Promise.all([
      hop.call(create({ "stripe-place": "9" }), CALL_MS),
      hop.call(create({ "deadline-ms": "10" }), CALL_MS),
      hop.call(post("/orders/1000070101010000000000000000/pay", {}, { "request-id": "mine" }), CALL_MS),
      hop.call(create(), CALL_MS),
    ]);
    assert.deepEqual(outcomes.map(codeOf), [421, 503, 400, 201]);
    assert.equal(bodyOf(outcomes[2] as WireOutcome).request_id, "mine");
    assert.equal(outcomes[1]?.kind === "answer" && outcomes[1].headers["retry-after"], "1");
  });

  test("quick calls are not held up by a slow one", async () => {
    const slow = bodyOf(await hop.call(create(), CALL_MS)).transaction_id;
    const holder = await connect(h.database.target, CONNECT_MS);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [slow]);
    let slowDone = false;
    const waiting = hop.call(pay(slow), CALL_MS).finally(() => (slowDone = true));
    const quick = await atOnce(20, () => hop.call(create(), CALL_MS));
    assert.deepEqual(new Set(quick.map(codeOf)), new Set([201]));
    assert.equal(slowDone, false);
    await holder.rollback();
    await holder.end();
    assert.equal(codeOf(await waiting), 200);
  });

  test("an instance that is not there has certainly done nothing", async () => {
    const nobody = new Hop(`http://127.0.0.1:${await kernelPort()}`, CONNECT_MS);
    assert.equal(codeOf(await nobody.call(create(), CALL_MS)), "unwritten refused");
    nobody.destroy();
    assert.equal(codeOf(await nobody.call(create(), CALL_MS)), "unwritten refused");
  });

  test("a frozen instance: what was sent is unknown, what comes later has certainly not been sent", async () => {
    assert.equal(codeOf(await hop.call(create(), CALL_MS)), 201);
    child.process.kill("SIGSTOP");
    const wire = h.wire();
    assert.equal(codeOf(await hop.call(post("/orders", wire), 300)), "unknown timeout");
    assert.equal(codeOf(await hop.call(create(), 300)), "unwritten connect_timeout");
    child.process.kill("SIGCONT");
    assert.equal(codeOf(await hop.call(post("/orders", wire), CALL_MS)), 200);
  });

  test("a service that leaves answers what it has begun, and takes nothing more", async () => {
    assert.equal(codeOf(await hop.call(create(), CALL_MS)), 201);
    const calls = Array.from({ length: 50 }, () => hop.call(create(), CALL_MS));
    await calls[0];
    child.process.kill("SIGTERM");
    const late = (async () => {
      const codes = new Set<unknown>();
      await until("it is gone", WAIT_MAX_MS, async () => {
        const code = codeOf(await hop.call(create(), CALL_MS));
        codes.add(code);
        return code === "unwritten refused";
      });
      return codes;
    })();
    assert.deepEqual(new Set((await Promise.all(calls)).map(codeOf)), new Set([201]));
    for (const code of await late) assert.ok(code === 201 || code === "unwritten refused", String(code));
    assert.equal(await child.exited, 0);
    hop.destroy();
    await restart();
  });

  test("a service that is killed: calls under way are unknown, the next are refused", async () => {
    const id = bodyOf(await hop.call(create(), CALL_MS)).transaction_id;
    const holder = await connect(h.database.target, CONNECT_MS);
    await holder.beginTransaction();
    await holder.query("SELECT 1 FROM orders WHERE transaction_id = ? FOR UPDATE", [id]);
    const waiting = hop.call(pay(id), CALL_MS);
    const asking = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%FOR UPDATE'";
    await until("it waits for the row", WAIT_MAX_MS, async () => Number(await h.value(asking)) >= 1);
    child.process.kill("SIGKILL");
    assert.equal(codeOf(await waiting), "unknown connection_lost");
    assert.equal(codeOf(await hop.call(create(), CALL_MS)), "unwritten refused");
    await holder.rollback();
    await holder.end();
    hop.destroy();
    await restart();
  });

  /** A server that answers an upgrade with these bytes. */
  async function rude(bytes: string): Promise<{ readonly server: Server; readonly url: string }> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.once("data", () => socket.write(bytes));
      socket.on("error", () => socket.destroy());
    });
    server.on("close", () => sockets.forEach((socket) => socket.destroy()));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test("something else behind the address: silence, another protocol, rubbish", async () => {
    const upgrade = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${HOP_PROTOCOL}\r\n\r\n`;
    const cases: readonly [string, string][] = [
      ["", "unwritten connect_timeout"],
      ["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "unwritten refused"],
      [`${upgrade}rubbish, not a frame`, "unknown bad_answer"],
    ];
    for (const [bytes, expected] of cases) {
      const { server, url: at } = await rude(bytes);
      const other = new Hop(at, 200);
      const code = String(codeOf(await other.call(create(), CALL_MS)));
      // Rubbish may come before the call was sent.
      assert.ok(code === expected || (bytes.endsWith("frame") && code === "unwritten refused"), code);
      other.destroy();
      server.close();
    }
  });
});
