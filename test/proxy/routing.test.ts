import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { stripeNo } from "../../core/ids.ts";
import { mintTransactionId } from "../../core/order-number.ts";
import { CONTROL_SCHEMA_REQUIRED } from "../../core/schema-versions.ts";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { Relay } from "./support/relay.ts";
import { numberAt, type RunningProxy, type Stack, startStack, stripeIn, until } from "./support/stack.ts";

const MAIN = fileURLToPath(new URL("../../proxy/main.ts", import.meta.url));

let stack: Stack;
let relay: Relay;
let folder: string;
before(async () => {
  stack = await startStack();
  relay = await new Relay(stack.control).open();
  folder = await mkdtemp(join(tmpdir(), "proxy-routing-"));
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function relayed(cacheFile = join(folder, `${process.hrtime.bigint()}.json`)): Promise<RunningProxy> {
  return stack.proxy({ control: { ...stack.control, host: "127.0.0.1", port: relay.port }, cacheFile });
}

async function wholeLife({ api }: RunningProxy): Promise<void> {
  const { transaction_id: id, out_trade_no: no } = await api.created();
  assert.equal((await api.pay(id)).status, 200);
  assert.equal((await api.order(id)).status, 200);
  assert.equal((await api.refund(id, 10)).status, 201);
  assert.equal((await api.get(`/v1/orders/out-trade-no/${no}?mchid=test-merchant`)).status, 200);
}

describe("the routing table", () => {
  test("a change is obeyed within half a second", async () => {
    const proxy = await stack.proxy({ limits: { routingPollMs: 400 } });
    const start = monotonicMs();
    const version = await stack.route(2, { blocked: 1 });
    await proxy.routed(version);
    assert.ok(monotonicMs() - start < 1_500, `took ${monotonicMs() - start} ms`);
    assert.notEqual(stripeIn((await proxy.api.created({ out_trade_no: numberAt(2) })).transaction_id), 2);
    await proxy.routed(await stack.route(2, { blocked: 0 }));
    assert.equal(stripeIn((await proxy.api.created({ out_trade_no: numberAt(2) })).transaction_id), 2);
    await proxy.stop();
  });

  for (const [how, vanish] of [
    ["refuses connections", () => relay.refuse()],
    ["hangs", async () => relay.fallSilent()],
  ] as const) {
    test(`the control database ${how}: orders of every kind go on, and it is met again when it is back`, async () => {
      const proxy = await relayed();
      await vanish();
      for (let i = 0; i < 5; i++) await wholeLife(proxy);
      const age = async (): Promise<boolean> => (await proxy.metric("proxy_routing_table_age_seconds")) > 0.6;
      await until(age, "the table grows old");
      await wholeLife(proxy);
      await relay.refuse();
      await relay.open();
      await proxy.routed(await stack.route(1, { weight: 100 }));
      await proxy.stop();
    });
  }

  test("a connection to the control database that was closed in between does not cost a refresh", async () => {
    const proxy = await stack.proxy({ limits: { routingPollMs: 60_000 } });
    for (const { id } of await stack.controlSql("SELECT id FROM information_schema.processlist WHERE db = 'control'")) {
      const [own] = await stack.controlSql("SELECT CONNECTION_ID() AS id");
      if (id !== own?.id) await stack.controlSql("KILL ?", [id]);
    }
    const unknown = await proxy.api.order(mintTransactionId(stripeNo(9_999), Date.UTC(2026, 0, 1), 1));
    assert.deepEqual([unknown.status, unknown.body.code], [404, "ORDER_NOT_EXIST"]);
    await proxy.stop();
  });

  test("a proxy starts with only the disk copy, and serves", async () => {
    const first = await relayed();
    await wholeLife(first);
    await first.stop();
    await relay.refuse();
    const cold = await relayed(first.cacheFile);
    const ready = await cold.api.get<{ routing_table_from: string }>("/readyz");
    assert.deepEqual([ready.status, ready.body.routing_table_from], [200, "disk"]);
    await wholeLife(cold);
    await relay.open();
    await cold.stop();
  });

  test("with neither it waits, says so, and serves once the control database is there", async () => {
    const broken = join(folder, "broken.json");
    await writeFile(broken, '{"form":1,"table":{"version":3');
    await relay.refuse();
    const proxy = await relayed(broken);
    assert.equal((await proxy.api.get("/readyz")).status, 503);
    const refused = await proxy.api.create();
    assert.deepEqual([refused.status, refused.body.code], [503, "NO_STRIPE_AVAILABLE"]);
    const { transaction_id: id } = await (await stack.proxy()).api.created();
    const unsure = await proxy.api.order(id);
    assert.deepEqual([unsure.status, unsure.body.code], [503, "STRIPE_UNAVAILABLE"], "not 404: it does not know");
    await relay.open();
    await until(async () => (await proxy.api.get("/readyz")).status === 200, "ready");
    await wholeLife(proxy);
    assert.match(await readFile(broken, "utf8"), /^\{"form":1,"table":\{"version":\d+,.*\}\}$/);
    await proxy.stop();
  });

  test("the disk copy is replaced whole, never half", async () => {
    const proxy = await stack.proxy();
    for (let i = 0; i < 5; i++) {
      const version = await stack.route(3, { weight: 90 + i });
      await proxy.routed(version);
      const saved = async (): Promise<boolean> => {
        const file = JSON.parse(await readFile(proxy.cacheFile, "utf8")) as { table: { version: number } };
        return file.table.version >= version;
      };
      await until(saved, "saved");
    }
    await stack.route(3, { weight: 100 });
    await proxy.stop();
  });

  test("a table older than the one in use is not taken", async () => {
    const proxy = await stack.proxy();
    const version = await stack.route(1, { weight: 100 });
    await proxy.routed(version);
    await stack.controlSql("UPDATE stripes SET blocked = 1");
    await stack.controlSql("UPDATE routing_meta SET version = version - 1");
    const old = async (): Promise<boolean> => (await proxy.metric("proxy_routing_table_age_seconds")) > 0.3;
    await until(old, "the older version has been seen and refused");
    assert.equal((await proxy.api.create()).status, 201);
    await stack.controlSql("UPDATE stripes SET blocked = 0");
    await stack.controlSql("UPDATE routing_meta SET version = version + 2");
    await proxy.routed(version + 1);
    await proxy.stop();
  });

  test("a stripe that is newer than the table is looked for before an order is denied", async () => {
    const { transaction_id: id } = await (await stack.proxy()).api.created({ out_trade_no: numberAt(3) });
    await stack.controlSql("UPDATE stripes SET stripe = 33 WHERE stripe = 3");
    await stack.controlSql("UPDATE routing_meta SET version = version + 1");
    const proxy = await stack.proxy({ limits: { routingPollMs: 60_000 } });
    await stack.controlSql("UPDATE stripes SET stripe = 3 WHERE stripe = 33");
    await stack.controlSql("UPDATE routing_meta SET version = version + 1");
    assert.equal((await proxy.api.order(id)).status, 200);
    await proxy.stop();
  });
});

describe("a control schema that does not fit", () => {
  async function refusesToStart(message: RegExp): Promise<void> {
    await assert.rejects(stack.proxy(), message);
  }

  test("too old or too new: the proxy refuses to start and says why", async () => {
    await stack.controlSql("UPDATE knex_migrations SET name = CONCAT('1', name) WHERE name LIKE ?", [
      `${CONTROL_SCHEMA_REQUIRED}%`,
    ]);
    await refusesToStart(/too old.*npm run migrate/);
    await stack.controlSql("UPDATE knex_migrations SET name = SUBSTR(name, 2) WHERE name LIKE ?", [
      `1${CONTROL_SCHEMA_REQUIRED}%`,
    ]);
    const newer = "29991231235959_breaking_everything";
    await stack.controlSql("INSERT INTO knex_migrations (name, batch, migration_time) VALUES (?, 99, NOW())", [newer]);
    await refusesToStart(/too new: 29991231235959_breaking_everything/);
    await stack.controlSql("DELETE FROM knex_migrations WHERE name = ?", [newer]);
    await (await stack.proxy()).stop();
  });
});

describe("the process", () => {
  function run(env: Record<string, string>): { child: ReturnType<typeof spawn>; output: () => string } {
    const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env.PATH, ...env } });
    let output = "";
    child.stdout?.on("data", (chunk) => (output += String(chunk)));
    child.stderr?.on("data", (chunk) => (output += String(chunk)));
    return { child, output: () => output };
  }

  const environment = (port: number): Record<string, string> => ({
    HOST: "127.0.0.1",
    PORT: String(port),
    CONTROL_DB_HOST: stack.control.host,
    CONTROL_DB_PORT: String(stack.control.port),
    CONTROL_DB_USER: stack.control.user,
    CONTROL_DB_PASSWORD: stack.control.password,
    CONTROL_DB_NAME: "control",
    ROUTING_CACHE_FILE: join(folder, "process.json"),
  });

  test("it serves with the environment alone, logs JSON without personal data, and ends on SIGTERM", async () => {
    const port = await kernelPort();
    const { child, output } = run({ ...environment(port), LOG_LEVEL: "debug" });
    const url = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(`${url}/readyz`)).ok, "ready");
    const body = { mchid: "m", out_trade_no: "o-1", description: "SECRETDESC", amount: { total: 1, currency: "CNY" } };
    const answer = await fetch(`${url}/v1/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, payer: { openid: "SECRETPAYER" } }),
    });
    assert.equal(answer.status, 201);
    await answer.text();
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    const lines = output()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.ok(lines.some((line) => line.route === "POST /v1/orders" && line.status === 201));
    assert.doesNotMatch(output(), /SECRET|password/i);
  });

  test("a limit that contradicts another is named, and the process ends", async () => {
    const { child, output } = run({ ...environment(0), ATTEMPT_TIMEOUT_MS: "2000", JUMPS_MAX: "9" });
    assert.deepEqual(await once(child, "exit"), [1, null]);
    assert.match(output(), /JUMPS_MAX/);
    const other = run({ ...environment(0), ATTEMPT_TIMEOUT_MS: "2000" });
    assert.deepEqual(await once(other.child, "exit"), [1, null]);
    assert.match(other.output(), /frozen home must leave time to jump/);
  });
});
