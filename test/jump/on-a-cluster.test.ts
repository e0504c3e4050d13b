// The whole way on a real cluster: the source of a stripe dies, its orders jump, a replica takes over, and what jumped
// is settled with the home by the services themselves.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createBody, OrdersApi } from "../support/orders-api.ts";
import { type SharedCluster, sharedCluster } from "../support/shared-cluster.ts";
import { until } from "../support/stripe-harness.ts";

const SETTLED_MAX_MS = 90_000;
const AT_ONCE = 6;
const QUIET_WANTED = 60;
const CREATES_MAX = 1_500;
/** A source that is back before a call to it was given up makes nothing jump. */
const KILLS_MAX = 3;

interface Facts {
  readonly facts: { readonly handoffs: Readonly<Record<string, number>> } | null;
}

let cluster: SharedCluster;
let api: OrdersApi;
before(async () => {
  cluster = await sharedCluster();
  api = new OrdersApi(cluster.url);
});

test("orders that jumped from a stripe whose source died are settled by themselves, and found under their numbers", {
  timeout: 240_000,
}, async () => {
  const jumped: { id: string; body: Record<string, unknown> }[] = [];
  for (let kills = 0; jumped.length === 0 && kills < KILLS_MAX; kills++) {
    const source = cluster
      .file()
      .stripes.find(({ stripe }) => stripe === 1)
      ?.mysql.find(({ role }) => role === "source");
    assert.ok(source !== undefined);
    process.kill(source.pid, "SIGKILL");
    // Until creates have begun to jump, and no longer do.
    for (
      let quiet = 0, sent = 0;
      sent < CREATES_MAX && (jumped.length === 0 || quiet < QUIET_WANTED);
      sent += AT_ONCE
    ) {
      const bodies = Array.from({ length: AT_ONCE }, () => createBody());
      const answers = await Promise.all(bodies.map((body) => api.post<{ transaction_id: string }>("/v1/orders", body)));
      quiet += AT_ONCE;
      for (const [i, { status, body, headers }] of answers.entries()) {
        assert.equal(status, 201, JSON.stringify(body));
        if (headers["jumped-from"] === undefined) continue;
        quiet = 0;
        jumped.push({ id: body.transaction_id, body: bodies[i] ?? {} });
      }
    }
  }
  assert.ok(jumped.length > 0, "nothing jumped");
  await until("every handoff is settled", SETTLED_MAX_MS, async () => {
    const response = await fetch(`${cluster.opsUrl}/ops/v1/stripes`);
    const { stripes } = (await response.json()) as { stripes: readonly Facts[] };
    return stripes.every(({ facts }) => facts?.handoffs.PENDING === 0 && facts.handoffs.CLAIMED === 0);
  });
  for (const { id, body } of jumped) {
    const found = await api.get<{ transaction_id: string }>(
      `/v1/orders/out-trade-no/${String(body.out_trade_no)}?mchid=${String(body.mchid)}`,
    );
    assert.deepEqual([found.status, found.body.transaction_id], [200, id]);
    const again = await api.post<{ transaction_id: string }>("/v1/orders", body);
    assert.deepEqual([again.status, again.body.transaction_id], [200, id], "told once, it stands");
    assert.equal((await api.pay(id)).status, 200);
  }
});

test("an operator changes a weight and rebalances: buckets move while orders flow, and none is lost", {
  timeout: 240_000,
}, async () => {
  const ops = `${cluster.opsUrl}/ops/v1`;
  const json = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const response = await fetch(`${ops}${path}`, init);
    assert.ok(response.ok, `${path} answered ${response.status} ${await response.clone().text()}`);
    return (await response.json()) as T;
  };
  const weigh = async (weight: number): Promise<void> => {
    const found = await fetch(`${ops}/stripes/1`);
    const headers = { "content-type": "application/json", "if-match": found.headers.get("etag") ?? "" };
    await json("/stripes/1", { method: "PATCH", headers, body: JSON.stringify({ weight }) });
  };
  interface Progress {
    readonly state: string;
    readonly planned: number;
    readonly moved: number;
    readonly left: number;
  }
  const rebalanced = async (): Promise<Progress> => {
    await json("/partitions/standard/rebalance", { method: "POST" });
    const now = (): Promise<Progress> => json("/partitions/standard/rebalance");
    await until("the buckets are moved", SETTLED_MAX_MS, async () => (await now()).state !== "RUNNING");
    return now();
  };
  const placed: { id: string; no: string }[] = [];
  const busy = new AbortController();
  const flow = (async () => {
    while (!busy.signal.aborted) {
      const order = await api.created();
      placed.push({ id: order.transaction_id, no: order.out_trade_no });
    }
  })();
  try {
    await weigh(90);
    const there = await rebalanced();
    assert.equal(there.state, "DONE");
    assert.ok(there.moved > 0 && there.moved === there.planned);
    await weigh(100);
    const back = await rebalanced();
    assert.equal(back.state, "DONE");
    assert.ok(back.moved > 0 && back.left === 0);
  } finally {
    busy.abort();
    await flow;
  }
  for (const { id, no } of placed) {
    const found = await api.get<{ transaction_id: string }>(`/v1/orders/out-trade-no/${no}?mchid=test-merchant`);
    assert.deepEqual([found.status, found.body.transaction_id], [200, id]);
  }
});
