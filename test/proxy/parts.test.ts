import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brokenRelations } from "../../proxy/config.ts";
import { SequencePool } from "../../proxy/mint/sequence-pool.ts";
import { Turns } from "../../proxy/orders/candidates.ts";
import { newToMerchant } from "../../proxy/orders/replay.ts";
import { Breaker } from "../../proxy/upstream/breaker.ts";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import { stripeNo } from "../../core/ids.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { atOnce } from "../support/orders-api.ts";
import { LIMITS, until } from "./support/stack.ts";

describe("a breaker", () => {
  test("pauses after so many failures in a row; a success in between starts the count anew", () => {
    const breaker = new Breaker(3, 1_000, 1_000);
    breaker.failed();
    breaker.failed();
    breaker.succeeded();
    breaker.failed();
    breaker.failed();
    assert.equal(breaker.admit(), true);
    breaker.failed();
    assert.equal(breaker.paused, true);
    assert.equal(breaker.admit(), false);
  });

  /** Milliseconds until the breaker lets a caller try. */
  async function untilAdmitted(breaker: Breaker): Promise<number> {
    const start = monotonicMs();
    await until(() => Promise.resolve(breaker.admit()), "admitted");
    return monotonicMs() - start;
  }

  test("lets one caller try after the pause, and begins a longer pause when that fails", async () => {
    const breaker = new Breaker(1, 40, 10_000);
    breaker.failed();
    assert.ok((await untilAdmitted(breaker)) >= 39);
    assert.equal(breaker.admit(), false, "somebody tries already");
    breaker.failed();
    assert.ok((await untilAdmitted(breaker)) >= 79, "the second pause is twice as long");
    breaker.succeeded();
    assert.deepEqual([breaker.admit(), breaker.admit()], [true, true]);
  });

  test("a trial that never ends does not block the next one for ever", async () => {
    const breaker = new Breaker(1, 1, 50);
    breaker.failed();
    await untilAdmitted(breaker);
    assert.ok((await untilAdmitted(breaker)) >= 49);
  });
});

describe("a sequence pool", () => {
  const soon = (): Deadline => new Deadline(1_000);

  test("gives every number of its blocks once, and leases one block at a time", async () => {
    let first = 0;
    let leasing = 0;
    const pool = new SequencePool(async () => {
      leasing += 1;
      assert.equal(leasing, 1);
      await sleep(1);
      leasing -= 1;
      first += 10;
      return { first: first - 10, size: 10 };
    });
    const numbers = await atOnce(95, () => pool.next(soon()));
    assert.deepEqual(
      numbers.toSorted((a, b) => Number(a) - Number(b)),
      [...Array(95).keys()],
    );
  });

  test("leases the next block at half use, before anybody waits", async () => {
    let leases = 0;
    const pool = new SequencePool(() => Promise.resolve({ first: leases++ * 10, size: 10 }));
    for (let i = 0; i < 4; i++) await pool.next(soon());
    assert.equal(leases, 1);
    await pool.next(soon());
    assert.equal(leases, 2);
    for (let i = 0; i < 9; i++) await pool.next(soon());
    assert.equal(leases, 2);
  });

  test("goes on with what it has while the stripe gives no block, then says so", async () => {
    let blocks = 1;
    const pool = new SequencePool(() => Promise.resolve(blocks-- > 0 ? { first: 0, size: 3 } : null));
    assert.deepEqual(await atOnce(4, () => pool.next(soon())), [0, 1, 2, null]);
  });

  test("waits no longer than the deadline", async () => {
    const pool = new SequencePool(() => new Promise(() => undefined));
    assert.equal(await pool.next(new Deadline(20)), null);
  });
});

test("a mask puts a stripe last and takes none away; each is asked only when its turn comes", () => {
  const [home, ...others] = [1, 2, 3].map((n) => ({ stripe: stripeNo(n) }) as StripeRow);
  const asked: number[] = [];
  let ordered = 0;
  const jumps = (): StripeRow[] => {
    ordered += 1;
    return others;
  };
  const all = (homeEligible: boolean, admit: (stripe: number) => boolean): (string | undefined)[] => {
    const turns = new Turns({ home, homeEligible, jumps }, admit, () => undefined);
    return Array.from({ length: 4 }, () => turns.next()).map((turn) => turn && `${turn.as} ${turn.row.stripe}`);
  };
  const turns = new Turns(
    { home, homeEligible: true, jumps },
    (stripe) => {
      asked.push(stripe);
      return true;
    },
    () => undefined,
  );
  assert.equal(turns.next()?.row.stripe, 1);
  assert.deepEqual([asked, ordered], [[1], 0]);
  assert.deepEqual(
    all(true, (stripe) => stripe !== 1),
    ["JUMP 2", "JUMP 3", "HOME 1", undefined],
  );
  assert.deepEqual(
    all(false, (stripe) => stripe !== 2),
    ["JUMP 3", "JUMP 2", undefined, undefined],
  );
});

test("an order of an earlier attempt of the same request is new to the merchant, one of another request is not", () => {
  const answer = { status: 200, headers: { "idempotent-replayed": "true", a: "b" }, body: '{"transaction_id":"T1"}' };
  assert.deepEqual(newToMerchant(answer, ["T0", "T1"]), { ...answer, status: 201, headers: { a: "b" } });
  assert.equal(newToMerchant(answer, ["T2"]), answer);
  assert.equal(newToMerchant(answer, []), answer);
});

test("limits that contradict each other are named", () => {
  assert.deepEqual(brokenRelations(LIMITS), []);
  const contradictions = [
    { attemptTimeoutMs: 1_500 },
    { connectTimeoutMs: 1_000 },
    { moveWaitMs: 1_500 },
    { requestsInFlightMax: 10 },
  ];
  for (const wrong of contradictions) assert.equal(brokenRelations({ ...LIMITS, ...wrong }).length, 1);
});
