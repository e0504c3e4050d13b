// The whole way on a real cluster: the source of a stripe dies, its orders jump, a replica takes over, and what jumped
// is settled with the home by the services themselves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createBody, OrdersApi } from "../support/orders-api.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { until } from "../support/stripe-harness.ts";

const SETTLED_MAX_MS = 90_000;
const JUMPS_WANTED = 20;
const CREATES_MAX = 2_000;

interface Facts {
  readonly facts: { readonly handoffs: Readonly<Record<string, number>> } | null;
}

test("orders that jumped from a stripe whose source died are settled by themselves, and found under their numbers", {
  timeout: 240_000,
}, async () => {
  const cluster = await sharedCluster();
  const api = new OrdersApi(cluster.url);
  const source = cluster
    .file()
    .stripes.find(({ stripe }) => stripe === 1)
    ?.mysql.find(({ role }) => role === "source");
  assert.ok(source !== undefined);
  process.kill(source.pid, "SIGKILL");
  const jumped: { id: string; body: Record<string, unknown> }[] = [];
  for (let n = 0; n < CREATES_MAX && jumped.length < JUMPS_WANTED; n++) {
    const body = createBody();
    const answer = await api.post<{ transaction_id: string }>("/v1/orders", body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    if (answer.headers["jumped-from"] !== undefined) jumped.push({ id: answer.body.transaction_id, body });
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
