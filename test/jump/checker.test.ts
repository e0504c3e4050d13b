import assert from "node:assert/strict";
import { test } from "node:test";
import { runRounds } from "./checker/run-rounds.ts";

test("a few random rounds of outages, late requests, dying resolvers and moving buckets break nothing", async (t) => {
  const results = await runRounds({ rounds: 3, seed: 20_260_101 }, (line) => t.diagnostic(line));
  assert.deepEqual(
    results.flatMap(({ broken }) => broken),
    [],
  );
  assert.ok(
    results.some(({ doubles }) => doubles > 0),
    "nothing was settled: the weather was too good",
  );
});
