// The shortened form of `npm run test:faults -- --rounds N --seed S`, for every run of the suite.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runRounds } from "./random/run-rounds.ts";

test("a few random rounds of dying, hanging and cut-off servers and checkers lose no acknowledged write", async (t) => {
  const results = await runRounds({ rounds: 5, seed: 20_260_104 }, (line) => t.diagnostic(line));
  assert.deepEqual(
    results.flatMap(({ broken }) => broken),
    [],
  );
  assert.ok(
    results.some(({ leads }) => leads > 0),
    "no source changed: nothing was tried",
  );
});
