import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import supertest from "supertest";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import { atOnce, createBody, OrdersApi } from "../support/orders-api.ts";
import { type SharedCluster, sharedCluster } from "../support/shared-cluster.ts";

const TASK_MAX_MS = 30_000;
const POLL_MS = 50;

describe("a planned switchover", () => {
  let api: OrdersApi;
  let cluster: SharedCluster;
  before(async () => {
    cluster = await sharedCluster();
    api = new OrdersApi(cluster.url);
  });

  async function endOf(task: string): Promise<{ state: string; detail: string | null; steps: unknown[] }> {
    const limit = monotonicMs() + TASK_MAX_MS;
    for (;;) {
      const { body } = await supertest(cluster.opsUrl).get(task);
      if (!["WAITING", "RUNNING"].includes(body.state as string)) return body;
      assert.ok(monotonicMs() < limit, `the task is still ${String(body.state)}`);
      await sleep(POLL_MS);
    }
  }

  test("moves the source to the server that is named, under load, with no unknown outcome and nothing lost", {
    timeout: 120_000,
  }, async () => {
    const target = cluster.file().stripes[0]?.mysql.find((m) => m.role === "replica")?.name ?? "";
    const acknowledged: string[] = [];
    const unknown: unknown[] = [];
    let on = true;
    const load = atOnce(6, async () => {
      while (on) {
        const answer = await api.post<{ transaction_id: string; code?: string }>("/v1/orders", createBody());
        if (answer.status === 201) acknowledged.push(answer.body.transaction_id);
        else unknown.push(answer.body);
      }
    });
    const asked = await supertest(cluster.opsUrl)
      .post("/ops/v1/stripes/1/switchover")
      .set("Ops-Actor", "tester")
      .send({ to: target });
    assert.equal(asked.status, 202);
    const done = await endOf(String(asked.body.url));
    on = false;
    await load;
    assert.equal(done.state, "DONE", JSON.stringify(done));
    assert.ok(done.steps.length > 0);
    assert.deepEqual(unknown, []);
    for (const id of acknowledged) assert.equal((await api.order(id)).status, 200, id);
    const { body } = await supertest(cluster.opsUrl).get("/ops/v1/stripes/1");
    assert.equal(body.triple.source, target);
    // Not always the newest: the former source may have had to rejoin since.
    const kinds = body.triple.recoveries.map(
      (r: { kind: string; source_after: string }) => `${r.kind} ${r.source_after}`,
    );
    assert.ok(kinds.includes(`SWITCHOVER ${target}`), kinds.join());
  });

  test("to a server that is not of the triple is refused, and nothing changes", { timeout: 60_000 }, async () => {
    const before = (await supertest(cluster.opsUrl).get("/ops/v1/stripes/2")).body.triple;
    const asked = await supertest(cluster.opsUrl).post("/ops/v1/stripes/2/switchover").send({ to: "s9x" });
    const done = await endOf(String(asked.body.url));
    assert.equal(done.state, "REFUSED", JSON.stringify(done));
    const after = (await supertest(cluster.opsUrl).get("/ops/v1/stripes/2")).body.triple;
    assert.deepEqual([after.source, after.tenure], [before.source, before.tenure]);
    assert.equal((await supertest(cluster.opsUrl).post("/ops/v1/stripes/99/switchover").send({})).status, 404);
    assert.equal((await supertest(cluster.opsUrl).get("/ops/v1/tasks/none")).status, 404);
  });
});
