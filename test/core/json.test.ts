import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JSON_DEPTH_MAX, JsonError, parseStrictJson } from "../../core/json.ts";

/** Every value that strict JSON can say: well-formed strings without U+0000, plain safe integers. */
const text = fc.string({ unit: "grapheme", maxLength: 12 }).filter((s) => !s.includes("\u0000"));
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 6 },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger().map((n) => (Object.is(n, -0) ? 0 : n)),
    text,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(text, tie("value"), { maxKeys: 5 }),
  ),
}));

/** The same value without object prototypes, as both parsers' answers are compared. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.entries(value).map(([key, member]) => [key, plain(member)]);
}

function read(source: string): { value: unknown } | { pointer: string; issue: string } {
  try {
    return { value: parseStrictJson(source) };
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return { pointer: error.pointer, issue: error.issue };
  }
}

test("whatever JSON.stringify writes of plain values is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(values, fc.constantFrom("", " ", "\t", 2), (value, indent) => {
      const source = JSON.stringify(value, null, indent);
      assert.deepEqual(plain(parseStrictJson(source)), plain(JSON.parse(source)));
    }),
    { numRuns: 2_000 },
  );
});

test("whatever is accepted JSON.parse accepts too, with the same value", () => {
  const scraps = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    '"a"',
    '"a":',
    "1",
    "-1",
    "-0",
    "01",
    "1.0",
    "1e3",
    "true",
    "nul",
    "null",
    " ",
    "\n",
    "\\",
    "\\u0041",
    "\\ud800",
    "\u00a0",
    "\ufeff",
    "\u0001",
  );
  const soup = fc.array(scraps, { maxLength: 12 }).map((parts) => parts.join(""));
  const damaged = fc
    .tuple(values, fc.nat(), fc.nat({ max: 2 }), scraps)
    .map(([value, at, cut, scrap]) => splice(JSON.stringify(value), at, cut, scrap));
  fc.assert(
    fc.property(fc.oneof(soup, damaged, fc.string()), (source) => {
      const answer = read(source);
      if ("value" in answer) assert.deepEqual(plain(answer.value), plain(JSON.parse(source)));
    }),
    { numRuns: 5_000 },
  );
});

function splice(source: string, at: number, cut: number, insert: string): string {
  const start = at % (source.length + 1);
  return source.slice(0, start) + insert + source.slice(start + cut);
}

test("a member that appears twice is refused at its pointer, however it is escaped and however deep", () => {
  assert.deepEqual(read('{"a":1,"a":1}'), { pointer: "/a", issue: "the member appears twice" });
  assert.deepEqual(read('{"a":1,"\\u0061":2}'), { pointer: "/a", issue: "the member appears twice" });
  assert.deepEqual(read('{"x":[0,{"b":1,"b":2}]}'), { pointer: "/x/1/b", issue: "the member appears twice" });
  assert.deepEqual(read('{"__proto__":1,"__proto__":2}'), { pointer: "/__proto__", issue: "the member appears twice" });
  fc.assert(
    fc.property(text, values, values, (key, a, b) => {
      const k = JSON.stringify(key);
      const answer = read(`{${k}:${JSON.stringify(a)},${k}:${JSON.stringify(b)}}`);
      assert.ok("issue" in answer && answer.issue === "the member appears twice");
    }),
  );
});

test("numbers are plain integers of at most 2^53−1, or refused", () => {
  for (const token of ["0", "1", "-1", "9007199254740991", "-9007199254740991"]) {
    for (const text of [`{"n":${token}}`, `{ "n": ${token} }`]) {
      assert.deepEqual(plain(parseStrictJson(text)), [["n", Number(token)]]);
    }
  }
  const bad = ["19.0", "1e3", "1E3", "-0", "00", "01", "+1", "1.", ".5", "9007199254740992", "1e400", "--1", "1-1"];
  for (const token of [...bad, "NaN", "Infinity"]) {
    const answer = read(`{"n":${token}}`);
    assert.ok("pointer" in answer && answer.pointer === "/n", token);
  }
  assert.ok("issue" in read('{"n":0x10}'));
});

test("lone surrogates and U+0000 are refused, pairs and every other character come back unchanged", () => {
  for (const s of ['"\\ud800"', '"\\udc00x"', '"\\ud800\\ud800"', '"\ud800"', '"\\u0000"', '"\u0000"']) {
    assert.ok("issue" in read(s), s);
  }
  assert.deepEqual(read('"\\ud83d\\ude00"'), { value: "😀" });
  assert.deepEqual(read('"☕️𠮷👩‍👩‍👧 مرحبا"'), { value: "☕️𠮷👩‍👩‍👧 مرحبا" });
});

test("all faulty values of a text that is JSON are named, not only the first", () => {
  assert.throws(
    () => parseStrictJson('{"a":1.0,"b":{"c":"\\ud800","d":1,"d":2},"e":3}'),
    (error: unknown) => {
      assert.ok(error instanceof JsonError);
      assert.deepEqual(
        error.issues.map(({ pointer }) => pointer),
        ["/a", "/b/c", "/b/d"],
      );
      assert.equal((error.partial as { e?: unknown }).e, 3);
      return true;
    },
  );
});

test("names with / and ~ are escaped in the pointer", () => {
  assert.deepEqual(read('{"a/b":{"c~d":1.5}}'), {
    pointer: "/a~1b/c~0d",
    issue: "numbers must be plain integers, got 1.5",
  });
});

test("a member called __proto__ is a member like others", () => {
  for (const text of ['{"__proto__":{"admin":1}}', '{ "__proto__": {"admin":1} }', '{"\\u005f_proto__":{"admin":1}}']) {
    const value = parseStrictJson(text) as Record<string, unknown>;
    assert.deepEqual(Object.keys(value), ["__proto__"], text);
    assert.equal(value.admin, undefined);
  }
});

test("nesting is bounded, so no body can exhaust the stack", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  assert.ok("value" in read(nested(JSON_DEPTH_MAX)));
  assert.ok("issue" in read(nested(JSON_DEPTH_MAX + 1)));
  assert.ok("issue" in read("[".repeat(60_000)));
});

test("text around or instead of one value is refused", () => {
  for (const source of [
    "",
    " ",
    "{}{}",
    "{} x",
    "\ufeff{}",
    "{,}",
    "[1,]",
    '{"a"}',
    "{'a':1}",
    "// c\n{}",
    '{"a":1,}',
  ]) {
    assert.ok("issue" in read(source), source);
  }
});
