import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  countOf,
  formatGtidSet,
  isEmpty,
  isSubset,
  parseGtidSet,
  subtract,
  unionOf,
  withoutUuid,
} from "../../health-checker/failover/gtid-set.ts";

const U = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const V = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

test("sets are read as MySQL writes them: spaces, upper case, tags, intervals in any order", () => {
  const text = `${U.toUpperCase()}:5:1-3:4,\n ${V}:7-9:orders:1-2:x:5`;
  assert.equal(formatGtidSet(parseGtidSet(text)), `${U}:1-5,${V}:7-9,${V}:orders:1-2,${V}:x:5`);
  assert.ok(isEmpty(parseGtidSet("")));
});

test("what is not a GTID set is refused", () => {
  for (const text of ["x:1", `${U}:0`, `${U}:5-3`, `${U}:1-`, `${U}:-`, `${U}:1-99999999999999999999`]) {
    assert.throws(() => parseGtidSet(text), RangeError, text);
  }
});

test("a tag is another sequence than its server's own", () => {
  assert.ok(!isSubset(parseGtidSet(`${U}:orders:1`), parseGtidSet(`${U}:1-5`)));
  assert.ok(isEmpty(withoutUuid(parseGtidSet(`${U}:orders:1,${U}:1`), U)));
});

const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 30 });
const asSet = (ids: readonly number[]): ReturnType<typeof parseGtidSet> =>
  parseGtidSet(ids.length === 0 ? "" : `${U}:${ids.join(":")}`);

test("union, difference, subset and count agree with sets of numbers", () => {
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      const [x, y] = [asSet(a), asSet(b)];
      const onlyA = a.filter((n) => !b.includes(n));
      assert.equal(formatGtidSet(subtract(x, y)), formatGtidSet(asSet(onlyA)));
      assert.equal(formatGtidSet(unionOf(x, y)), formatGtidSet(asSet([...new Set([...a, ...b])])));
      assert.equal(isSubset(x, y), onlyA.length === 0);
      assert.equal(countOf(x), a.length);
      assert.equal(formatGtidSet(parseGtidSet(formatGtidSet(x))), formatGtidSet(x));
    }),
  );
});
