import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  judged,
  latencyOf,
  newlyWatched,
  type OtherStripe,
  symptomOf,
  VERDICT_RULES,
  type Watched,
  withProbe,
} from "../../health-checker/verdicts/verdict.ts";
import { majorityVerdict, mergeVerdicts, takenOutByVerdict, type Verdict } from "../../core/verdicts.ts";

const SECOND = 1_000;
const FAST = 8;
const WELL: OtherStripe = { latencyMs: FAST, failing: false };
const FAILING: OtherStripe = { latencyMs: null, failing: true };

/** A probe: its latency, or `x` for a failed one. */
type P = number | "x";

class Scene {
  watched: Watched = newlyWatched(0);
  nowMs = 0;
  others: readonly OtherStripe[] = [WELL, WELL];

  /** One round a second for each probe. @returns the verdict after each */
  probes(...probes: readonly P[]): Verdict[] {
    return probes.map((p) => {
      this.nowMs += SECOND;
      const probe = { ok: p !== "x", ms: p === "x" ? 900 : p, atMs: this.nowMs };
      return this.look(withProbe(this.watched, probe));
    });
  }

  look(watched = this.watched): Verdict {
    this.watched = judged(watched, symptomOf(watched, this.others, this.nowMs), this.nowMs);
    return this.watched.verdict;
  }
}

const times = (n: number, ...some: P[]): P[] => Array.from({ length: n }, () => some).flat();

function healthy(): Scene {
  const scene = new Scene();
  scene.probes(...times(12, FAST));
  assert.equal(scene.watched.verdict, "healthy");
  return scene;
}

describe("verdicts from success", () => {
  test("a stripe is unknown until it was probed three times, then what it is", () => {
    assert.deepEqual(new Scene().probes(FAST, FAST, FAST), ["unknown", "unknown", "healthy"]);
  });

  test("what failed before a stripe first answered is forgotten; one that never answers is unhealthy in the end", () => {
    const starting = new Scene();
    assert.deepEqual(new Set(starting.probes(...times(VERDICT_RULES.firstProbesMax, "x"))), new Set(["unknown"]));
    assert.deepEqual(starting.probes(FAST, FAST, FAST).at(-1), "healthy");
    const dead = new Scene();
    dead.probes(...times(VERDICT_RULES.firstProbesMax + 1, "x"));
    assert.equal(dead.watched.verdict, "unknown");
    assert.deepEqual(dead.probes("x"), ["unhealthy"]);
  });

  test("three failures in a row make it unhealthy; two do not, and one is nothing", () => {
    assert.deepEqual(healthy().probes("x", "x", "x"), ["healthy", "healthy", "unhealthy"]);
    assert.deepEqual(healthy().probes("x", "x", FAST, FAST).slice(0, 3), ["healthy", "healthy", "degraded"]);
    assert.deepEqual(healthy().probes("x", FAST, FAST, FAST), ["healthy", "healthy", "healthy", "healthy"]);
  });

  test("two failures of ten make it degraded; one of ten does not", () => {
    assert.deepEqual(healthy().probes("x", FAST, FAST, "x", FAST), [
      "healthy",
      "healthy",
      "healthy",
      "healthy",
      "degraded",
    ]);
    const one = healthy();
    assert.ok(one.probes("x", ...times(9, FAST), "x", ...times(9, FAST)).every((v) => v === "healthy"));
  });

  test("every other probe failing is not unhealthy; six of ten are", () => {
    const half = healthy();
    half.probes(...times(10, FAST, "x"));
    assert.equal(half.watched.verdict, "degraded");
    const most = healthy();
    for (let i = 0; i < 6; i++) most.probes("x", FAST, "x");
    assert.equal(most.watched.verdict, "unhealthy");
  });

  test("it gets well only after five good looks, and by way of degraded", () => {
    const scene = healthy();
    scene.probes(...times(10, "x"));
    const back = scene.probes(...times(20, FAST));
    assert.equal(back[0], "unhealthy");
    const first = back.indexOf("degraded");
    const well = back.indexOf("healthy");
    assert.ok(first >= 5 && well > first, back.join());
    assert.equal(back.lastIndexOf("unhealthy") + 1, first, "never back and forth");
  });

  test("a stripe that flickers stays what it was", () => {
    const scene = healthy();
    scene.probes(...times(10, "x"));
    const flicker = scene.probes(...times(4, FAST, "x", "x"));
    assert.ok(
      flicker.every((v) => v === "unhealthy"),
      flicker.join(),
    );
  });
});

describe("verdicts from latency", () => {
  test("slower than its own past and than the others: degraded; far slower: unhealthy", () => {
    const slow = healthy();
    slow.probes(...times(5, 150));
    assert.equal(slow.watched.verdict, "degraded");
    const far = healthy();
    far.probes(...times(5, 700));
    assert.equal(far.watched.verdict, "unhealthy");
  });

  test("near misses: below the floor, one slow probe, all stripes as slow, as slow as it always was", () => {
    const floor = healthy();
    floor.probes(...times(8, VERDICT_RULES.degradedSlow.ms - 1));
    const spike = healthy();
    spike.probes(FAST, 800, FAST, FAST, FAST);
    const together = healthy();
    together.others = [
      { latencyMs: 140, failing: false },
      { latencyMs: 130, failing: false },
    ];
    together.probes(...times(8, 150));
    const always = new Scene();
    always.probes(...times(12, 150));
    for (const scene of [floor, spike, together, always]) assert.equal(scene.watched.verdict, "healthy");
  });

  test("a stripe alone is measured against its own past", () => {
    const alone = healthy();
    alone.others = [];
    alone.probes(...times(5, 150));
    assert.equal(alone.watched.verdict, "degraded");
  });

  test("a long illness does not become the usual in minutes, however slow it makes the probes", () => {
    for (const [ms, verdict] of [
      [150, "degraded"],
      [700, "unhealthy"],
      [1_900, "unhealthy"],
      [20_000, "unhealthy"],
    ] as const) {
      const scene = healthy();
      const usualMs = scene.watched.pastMs ?? 0;
      scene.probes(...times(600, ms));
      assert.equal(scene.watched.verdict, verdict, `${ms} ms`);
      assert.ok((scene.watched.pastMs ?? 0) < 1.5 * usualMs, `past ${scene.watched.pastMs}, before ${usualMs}`);
      assert.equal(latencyOf(scene.watched), ms);
    }
  });
});

describe("not knowing", () => {
  test("when probes of every stripe fail here, the fault may be here: unknown at once", () => {
    const scene = healthy();
    scene.others = [FAILING, FAILING];
    assert.deepEqual(scene.probes("x", "x").at(-1), "unknown");
    scene.others = [FAILING, WELL];
    assert.deepEqual(scene.probes("x", "x").at(-1), "unhealthy");
  });

  test("without a probe that ended lately there is no opinion; a late one is enough for it", () => {
    const scene = healthy();
    scene.nowMs += VERDICT_RULES.staleMs;
    assert.equal(scene.look(), "healthy");
    scene.nowMs += 1;
    assert.equal(scene.look(), "unknown");
    assert.deepEqual(scene.probes(FAST), ["healthy"]);
  });
});

describe("several checkers", () => {
  const word = (stripe: number, verdict: Verdict, ageMs = 0, latencyMs: number | null = 5) => {
    return { stripe, verdict, ageMs, latencyMs, since: `t-${ageMs}` };
  };

  test("the majority of those that have an opinion decides; a tie goes to the better verdict", () => {
    const cases: readonly (readonly [readonly Verdict[], Verdict])[] = [
      [[], "unknown"],
      [["unknown", "unknown"], "unknown"],
      [["unhealthy"], "unhealthy"],
      [["unhealthy", "unknown"], "unhealthy"],
      [["unhealthy", "healthy"], "healthy"],
      [["unhealthy", "healthy", "unhealthy"], "unhealthy"],
      [["unhealthy", "healthy", "healthy"], "healthy"],
      [["unhealthy", "degraded", "healthy"], "degraded"],
      [["unhealthy", "unhealthy", "healthy", "healthy"], "healthy"],
    ];
    for (const [votes, verdict] of cases) assert.equal(majorityVerdict(votes), verdict, votes.join());
  });

  test("reports are merged by stripe: median latency, since when the longest of those that agree", () => {
    const merged = mergeVerdicts([
      [word(1, "unhealthy", 500, 9), word(2, "healthy")],
      [word(1, "unhealthy", 900, 7)],
      [word(1, "healthy", 5_000, 8)],
    ]);
    assert.deepEqual(merged.get(1), { ...word(1, "unhealthy", 900, 8), checkers: 3 });
    assert.equal(merged.get(2)?.verdict, "healthy");
    assert.equal(merged.get(3), undefined);
  });

  test("verdicts alone never take out more than half of a partition, the longest ill first", () => {
    const verdicts = mergeVerdicts([
      [word(1, "unhealthy", 10), word(2, "unhealthy", 30), word(3, "unhealthy", 20), word(4, "degraded")],
    ]);
    const out = (...members: number[]) => [...takenOutByVerdict(members, verdicts)];
    assert.deepEqual(out(1), []);
    assert.deepEqual(out(1, 4), [1]);
    assert.deepEqual(out(1, 2), [2]);
    assert.deepEqual(out(1, 2, 3), [2]);
    assert.deepEqual(out(1, 2, 3, 4), [2, 3]);
    assert.deepEqual(out(4, 5, 6), [], "degraded and unknown stripes stay");
  });
});
