import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { AdaptiveLimit, LIMIT_RULES } from "../../proxy/overload/adaptive-limit.ts";
import { FairShare } from "../../proxy/overload/fair-share.ts";

const MIN = 24;
const MAX = 256;

/** Feeds a limit with windows of calls of one latency. */
class Feed {
  readonly limit = new AdaptiveLimit(MIN, MAX);
  #nowMs = 0;

  windows(count: number, ms: number, lost: (call: number) => boolean = () => false, inFlight = MAX): number {
    for (let i = 0; i < count * LIMIT_RULES.windowCalls; i++) {
      this.#nowMs += LIMIT_RULES.windowMs / (LIMIT_RULES.windowCalls - 1) + 0.001;
      this.limit.ended(ms, lost(i), inFlight, this.#nowMs);
    }
    return this.limit.limit;
  }
}

describe("the limit of calls in flight to one stripe", () => {
  test("starts at its maximum and stays there while the stripe answers as usual", () => {
    const feed = new Feed();
    assert.equal(feed.limit.limit, MAX);
    assert.equal(feed.windows(50, 5), MAX);
  });

  test("shrinks to its minimum within three seconds of slow answers, and comes back when they are quick again", () => {
    const feed = new Feed();
    feed.windows(10, 5);
    assert.equal(feed.windows(12, 2_000), MIN);
    assert.equal(feed.windows(30, 5), MAX);
  });

  test("near misses: slower but under the floor, slow only against the floor, a single slow window", () => {
    const floor = new Feed();
    floor.windows(10, 5);
    assert.equal(floor.windows(20, LIMIT_RULES.slowMs), MAX);
    const usual = new Feed();
    usual.windows(10, 900);
    assert.equal(usual.windows(20, 3_000), MAX);
    const once = new Feed();
    once.windows(10, 5);
    assert.ok(once.windows(1, 2_000) >= MAX * LIMIT_RULES.shrinkTo - 1);
    assert.equal(once.windows(5, 5), MAX);
  });

  test("shrinks when a tenth of the calls and more than one are lost; one lost call is nothing", () => {
    const two = new Feed();
    assert.equal(
      two.windows(20, 5, (call) => call % 5 === 0),
      MIN,
    );
    const one = new Feed();
    assert.equal(
      one.windows(20, 5, (call) => call % 10 === 0),
      MAX,
    );
  });

  test("waiting for calls that were given up does not become the usual; long slowness does, in minutes", () => {
    const feed = new Feed();
    feed.windows(20, 5);
    feed.windows(400, 1_000, () => true);
    assert.ok((feed.limit.usualMs ?? 0) < 6);
    feed.windows(60 * 4, 1_000);
    assert.ok((feed.limit.usualMs ?? 0) > 250);
    assert.equal(feed.windows(60 * 4, 1_000), MAX);
  });

  test("the second slow window in a row cuts below what was in flight, the first does not", () => {
    const feed = new Feed();
    feed.windows(10, 5);
    assert.ok(feed.windows(1, 2_000, undefined, 60) > 170);
    assert.equal(feed.windows(1, 2_000, undefined, 60), 60 * LIMIT_RULES.shrinkTo);
    assert.equal(feed.windows(2, 2_000, undefined, 30), MIN);
  });

  test("a minimum above the maximum gives way", () => {
    assert.equal(new AdaptiveLimit(24, 3).limit, 3);
  });

  test("it is always between its bounds", () => {
    const calls = fc.array(fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), lost: fc.boolean(), gap: fc.nat(300) }));
    fc.assert(
      fc.property(calls, (some) => {
        const limit = new AdaptiveLimit(MIN, MAX);
        let nowMs = 0;
        for (const { ms, lost, gap } of some) {
          nowMs += gap;
          limit.ended(ms, lost, ms % MAX, nowMs);
          assert.ok(limit.limit >= MIN && limit.limit <= MAX);
        }
      }),
    );
  });
});

describe("fair shares of a stripe's places", () => {
  const enterAll = (fair: FairShare, merchant: string | undefined, places: number): number => {
    let entered = 0;
    while (fair.enter(merchant, places) === "admitted") entered += 1;
    return entered;
  };

  test("one merchant alone gets three quarters; the rest is for others", () => {
    const fair = new FairShare();
    assert.equal(enterAll(fair, "hot", 100), 75);
    assert.equal(fair.enter("hot", 100), "hot_merchant");
    assert.equal(fair.enter("new", 100), "admitted");
    assert.equal(enterAll(fair, "new", 100), 24);
    assert.equal(fair.enter("third", 100), "full");
  });

  test("below three quarters nobody is refused", () => {
    const fair = new FairShare();
    for (let i = 0; i < 75; i++) assert.equal(fair.enter(i < 70 ? "hot" : `m${i}`, 100), "admitted");
  });

  test("equal merchants are not shed before the places are gone, up to the share that is kept", () => {
    const fair = new FairShare();
    let admitted = 0;
    for (let round = 0; round < 20; round++) {
      for (let m = 0; m < 9; m++) if (fair.enter(`m${m}`, 90) === "admitted") admitted += 1;
    }
    assert.equal(admitted, 81);
    assert.equal(fair.enter("new", 90), "admitted");
  });

  test("what belongs to no merchant is refused only when all places are taken", () => {
    const fair = new FairShare();
    enterAll(fair, "hot", 100);
    assert.equal(enterAll(fair, undefined, 100), 25);
    assert.equal(fair.enter(undefined, 100), "full");
  });

  test("with one place it is given to whoever comes", () => {
    const fair = new FairShare();
    assert.equal(fair.enter("a", 1), "admitted");
    fair.leave("a");
    assert.equal(fair.enter("b", 1), "admitted");
  });

  test("nothing is remembered of merchants that have nothing in flight", () => {
    const merchants = fc.array(fc.constantFrom("a", "b", "c", "d", undefined), { maxLength: 200 });
    fc.assert(
      fc.property(merchants, fc.integer({ min: 1, max: 40 }), (some, places) => {
        const fair = new FairShare();
        const inside = some.filter((merchant) => fair.enter(merchant, places) === "admitted");
        assert.ok(inside.length <= places && fair.inFlight === inside.length);
        assert.ok(fair.merchants <= places);
        for (const merchant of inside) fair.leave(merchant);
        assert.deepEqual([fair.inFlight, fair.merchants], [0, 0]);
      }),
    );
  });
});
