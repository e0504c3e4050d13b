import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { monotonicMs } from "../../runtime/clock.ts";
import { atOnce, createBody, OrdersApi, stripeOf } from "../support/orders-api.ts";
import { type SharedCluster, sharedCluster } from "../support/shared-cluster.ts";

const HEAL_MAX_MS = 60_000;
/** The proxy's deadline of three seconds, and what it takes to carry the answer on two busy cores. */
const DEADLINE_MS = 3_000 + 700;

describe("a stripe in trouble", () => {
  let api: OrdersApi;
  let cluster: SharedCluster;
  before(async () => {
    cluster = await sharedCluster();
    api = new OrdersApi(cluster.url);
  });

  async function ordersByStripe(): Promise<Map<number, string>> {
    const found = new Map<number, string>();
    while (found.size < cluster.file().stripes.length) {
      for (const o of await atOnce(10, () => api.created())) found.set(stripeOf(o.transaction_id), o.transaction_id);
    }
    return found;
  }

  async function healed(id: string): Promise<void> {
    const limit = monotonicMs() + HEAL_MAX_MS;
    for (;;) {
      const paid = await api.pay(id, { out_pay_no: "healed" });
      if (paid.status === 200) return;
      assert.ok([500, 503, 504].includes(paid.status), JSON.stringify(paid.body));
      assert.ok(monotonicMs() < limit, "the stripe did not heal");
    }
  }

  function sourceOf(stripe: number): { pid: number } {
    const source = cluster
      .file()
      .stripes.find((s) => s.stripe === stripe)
      ?.mysql.find((m) => m.role === "source");
    assert.ok(source !== undefined, `stripe ${stripe} has no source`);
    return source;
  }

  /** Breaks stripe 1 while creates flow, and checks what everybody sees until it is well again. */
  async function whileBroken(breakIt: () => void): Promise<void> {
    const ids = await ordersByStripe();
    const own = ids.get(1) ?? "";
    let on = true;
    const faults: unknown[] = [];
    const acknowledged: string[] = [];
    const load = atOnce(6, async () => {
      while (on) {
        const started = monotonicMs();
        const answer = await api.post<{ transaction_id: string; code: string }>("/v1/orders", createBody());
        if (answer.status === 201) acknowledged.push(answer.body.transaction_id);
        else faults.push(answer.body);
        if (monotonicMs() - started > DEADLINE_MS) faults.push("a create took longer than its deadline");
      }
    });
    breakIt();
    const others = [...ids].filter(([stripe]) => stripe !== 1).map(([, id]) => id);
    for (let i = 0; i < 10; i++) {
      const started = monotonicMs();
      const paid = await api.pay(own, { out_pay_no: "healed" });
      assert.ok([200, 503, 504].includes(paid.status), JSON.stringify(paid.body));
      if (paid.status !== 200) assert.equal(paid.body.retryable, true);
      assert.ok(monotonicMs() - started < DEADLINE_MS, "a pay on the broken stripe is answered within the deadline");
      for (const id of others) assert.equal((await api.order(id)).status, 200, "other stripes never notice");
    }
    await healed(own);
    on = false;
    await load;
    assert.deepEqual(faults, []);
    const lost = [];
    for (const id of acknowledged) if ((await api.order(id)).status !== 200) lost.push(id);
    assert.deepEqual(lost, [], `of ${acknowledged.length} acknowledged orders`);
  }

  test("its source is killed: creates jump and never fail, its own orders wait, nothing acknowledged is lost", {
    timeout: 180_000,
  }, async () => {
    await whileBroken(() => process.kill(sourceOf(1).pid, "SIGKILL"));
  });

  test("all its services are killed: creates jump and never fail, its own orders wait", {
    timeout: 180_000,
  }, async () => {
    await whileBroken(() => {
      for (const { pid } of cluster.file().stripes.find((s) => s.stripe === 1)?.services ?? [])
        process.kill(pid, "SIGKILL");
    });
  });

  test("its HAProxy is killed: creates jump and never fail, its own orders wait", { timeout: 180_000 }, async () => {
    await whileBroken(() => {
      const pid = cluster.file().stripes.find((s) => s.stripe === 1)?.haproxy.pid;
      assert.ok(pid !== undefined);
      process.kill(pid, "SIGKILL");
    });
  });

  test("one of its two services is killed: nobody sees an error", { timeout: 180_000 }, async () => {
    const own = (await ordersByStripe()).get(1) ?? "";
    process.kill(cluster.file().stripes.find((s) => s.stripe === 1)?.services[0]?.pid ?? 0, "SIGKILL");
    for (let i = 0; i < 50; i++) {
      assert.equal((await api.order(own)).status, 200);
      assert.equal((await api.create()).status, 201);
    }
    assert.equal((await api.pay(own)).status, 200);
  });

  test("the control database is gone: orders of every kind go on", { timeout: 180_000 }, async () => {
    process.kill(cluster.file().control.pid, "SIGSTOP");
    try {
      for (let i = 0; i < 30; i++) {
        const { transaction_id: id } = await api.created();
        assert.equal((await api.pay(id)).status, 200);
        assert.equal((await api.order(id)).status, 200);
      }
    } finally {
      process.kill(cluster.file().control.pid, "SIGCONT");
    }
  });
});
