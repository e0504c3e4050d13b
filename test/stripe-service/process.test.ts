import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { type Child, startChild } from "../support/child.ts";
import { StripeClient, StripeHarness, until } from "../support/stripe-harness.ts";
import { TcpRelay } from "../support/tcp-relay.ts";

const ENTRY = "stripe-service/main.ts";
const START_MAX_MS = 10_000;

describe("the process", () => {
  let h: StripeHarness;
  before(async () => {
    h = await StripeHarness.start({ instances: 0 });
  });
  after(() => h[Symbol.asyncDispose]());

  async function start(extra: Record<string, string> = {}): Promise<{ child: Child; url: string }> {
    const port = await kernelPort();
    const child = startChild(ENTRY, { ...h.env(port, extra), LOG_LEVEL: "debug" });
    return { child, url: `http://127.0.0.1:${port}` };
  }

  const status = async (url: string): Promise<number> => {
    try {
      return (await fetch(url)).status;
    } catch {
      return 0;
    }
  };

  test("it starts without a database, is not ready, and serves once the database is there", async () => {
    const relay = await TcpRelay.start(h.database.target);
    const relayPort = await relay.die();
    const { child, url } = await start({ DB_WRITER_PORT: String(relayPort) });
    await using _child = child;
    await until("it lives", START_MAX_MS, async () => (await status(`${url}/healthz`)) === 200);
    assert.equal(await status(`${url}/readyz`), 503);
    const client = new StripeClient(url, 1);
    const refused = await client.post("/orders", h.wire());
    assert.deepEqual([refused.status, refused.body.code], [503, "STRIPE_UNAVAILABLE"]);
    await relay.listen(relayPort);
    await until("it is ready", START_MAX_MS, async () => (await status(`${url}/readyz`)) === 200);
    assert.equal((await client.post("/orders", h.wire())).status, 201);
    child.process.kill("SIGTERM");
    assert.equal(await child.exited, 0);
    await client.stop();
    await relay[Symbol.asyncDispose]();
  });

  test("it refuses a schema that is too old, and one that only newer code understands", async () => {
    const newest = String(await h.value("SELECT MAX(name) FROM knex_migrations"));
    const cases: [string, string, RegExp][] = [
      [
        "UPDATE knex_migrations SET name = '20200101000000_x' WHERE name = ?",
        "UPDATE knex_migrations SET name = ? WHERE name = '20200101000000_x'",
        /too old.*npm run migrate/,
      ],
      [
        "INSERT INTO knex_migrations (name, batch) SELECT '20990101000000_breaking_x', 9 FROM DUAL WHERE ? <> ''",
        "DELETE FROM knex_migrations WHERE ? <> '' AND name LIKE '2099%'",
        /too new.*upgrade/,
      ],
    ];
    for (const [breaking, mending, message] of cases) {
      await h.database.sql(breaking, [newest]);
      const { child } = await start();
      await using _child = child;
      assert.equal(await child.exited, 1);
      assert.match(child.output(), message);
      await h.database.sql(mending, [newest]);
    }
  });

  test("it names what is wrong in its configuration", async () => {
    const { child } = await start({ PORT: "no", COMMIT_STUCK_MS: "9000" });
    await using _child = child;
    assert.equal(await child.exited, 1);
    assert.match(child.output(), /PORT/);
    const { child: other } = await start({ COMMIT_STUCK_MS: "9000" });
    await using _other = other;
    assert.equal(await other.exited, 1);
    assert.match(other.output(), /COMMIT_STUCK_MS < DB_DEADLINE_MS/);
  });

  test("logs hold request and order numbers, and no payer, also when a statement fails with one in it", async () => {
    const { child, url } = await start();
    await using _child = child;
    await until("it is ready", START_MAX_MS, async () => (await status(`${url}/readyz`)) === 200);
    const client = new StripeClient(url, 1);
    const wire = h.wire({ payer: { openid: "payer-secret-1" } });
    const { body: order } = await client.post("/orders", wire);
    await h.database.sql("RENAME TABLE payments TO payments_away");
    const failed = await client.pay(order.transaction_id, { payer: { openid: "payer-secret-2" } });
    await h.database.sql("RENAME TABLE payments_away TO payments");
    assert.deepEqual([failed.status, failed.body.code], [500, "SYSTEM_ERROR"]);
    assert.doesNotMatch(JSON.stringify(failed.body), /payments|SELECT|INSERT/);
    assert.equal((await client.get(`/orders/${order.transaction_id}`)).body.trade_state, "NOTPAY");
    const paid = await client.pay(order.transaction_id, { payer: { openid: "payer-secret-3" } });
    assert.equal(paid.status, 200);
    await until("it is logged", START_MAX_MS, () => child.output().includes('"operation":"query"'));
    assert.match(child.output(), new RegExp(order.transaction_id));
    assert.match(child.output(), /"errno":1146/);
    assert.doesNotMatch(child.output(), /payer-secret/);
    await client.stop();
  });
});
