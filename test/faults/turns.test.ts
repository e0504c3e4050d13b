import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServedWrite, turnsTaken } from "./random/turns.ts";

const write = (server: string, beganMs: number, endedMs: number): ServedWrite => ({ server, beganMs, endedMs });

test("turns are counted where one server's answer certainly came after another's", () => {
  assert.equal(turnsTaken([]), 0);
  assert.equal(turnsTaken([write("a", 0, 1), write("a", 2, 3)]), 0);
  assert.equal(turnsTaken([write("a", 0, 1), write("b", 2, 3)]), 1);
  assert.equal(turnsTaken([write("b", 2, 3), write("a", 0, 1), write("a", 4, 5)]), 2);
});

test("writes that were on their way together are no turn", () => {
  assert.equal(turnsTaken([write("a", 0, 10), write("b", 5, 15)]), 0);
  assert.equal(turnsTaken([write("a", 0, 10), write("b", 5, 15), write("a", 12, 20)]), 0);
  assert.equal(turnsTaken([write("a", 0, 10), write("b", 5, 15), write("c", 16, 20)]), 1);
});
