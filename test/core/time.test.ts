import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fromDbTime, parseInstant, toDbTime } from "../../core/time.ts";

const instants = fc
  .date({ min: new Date("0001-01-02T00:00:00Z"), max: new Date("9998-12-30T23:59:59.999Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const offsets = fc.tuple(fc.constantFrom("+", "-"), fc.nat({ max: 23 }), fc.nat({ max: 59 }));

function two(n: number): string {
  return String(n).padStart(2, "0");
}

test("an instant is the same whatever offset it is written with", () => {
  fc.assert(
    fc.property(instants, offsets, (instant, [sign, hours, minutes]) => {
      const offsetMs = (sign === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
      const local = new Date(Date.parse(instant) + offsetMs).toISOString();
      assert.equal(parseInstant(`${local.slice(0, -1)}${sign}${two(hours)}:${two(minutes)}`), instant);
    }),
    { numRuns: 2_000 },
  );
  for (const text of ["2026-11-29T13:30:00+08:00", "2026-11-29T05:30:00Z", "2026-11-29T02:00:00-03:30"]) {
    assert.equal(parseInstant(text), "2026-11-29T05:30:00.000Z");
  }
});

test("finer fractions are cut off, never rounded", () => {
  fc.assert(
    fc.property(instants, fc.stringMatching(/^[0-9]{0,12}$/), (instant, more) => {
      assert.equal(parseInstant(`${instant.slice(0, -1)}${more}Z`), instant);
    }),
  );
  assert.equal(parseInstant("2026-12-31T23:59:59.999999999Z"), "2026-12-31T23:59:59.999Z");
  assert.equal(parseInstant("2026-12-31T23:59:59.1Z"), "2026-12-31T23:59:59.100Z");
});

test("database text and instant are two forms of one value", () => {
  fc.assert(
    fc.property(instants, (instant) => {
      const stored = toDbTime(instant);
      assert.match(stored, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
      assert.equal(fromDbTime(stored), instant);
    }),
  );
});

test("days, times and offsets that do not exist are refused, so is a time without offset", () => {
  const bad = [
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-11-29T24:00:00Z",
    "2026-11-29T23:60:00Z",
    "2016-12-31T23:59:60Z",
    "2026-11-29T10:00:00+24:00",
    "2026-11-29T10:00:00+08:60",
    "2026-11-29T10:00:00",
    "2026-11-29T10:00Z",
    "2026-11-29",
    "2026-11-29 10:00:00Z",
    "2026-11-29T10:00:00+0800",
    "2026-11-29T10:00:00+8",
    "2026-11-29T10:00:00.Z",
    "+002026-11-29T10:00:00Z",
    "",
    "٢٠٢٦-11-29T10:00:00Z",
    "2026-11-29T10:00:00Z\n",
    " 2026-11-29T10:00:00Z",
    "9999-01-01T00:00:00Z",
  ];
  for (const text of bad) assert.equal(parseInstant(text), null, text);
  assert.equal(parseInstant("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000Z");
  assert.equal(parseInstant("2026-11-29t10:00:00z"), "2026-11-29T10:00:00.000Z");
});

test("no text makes the parser throw, and what it takes is a fixed point", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,12}(Z|[+-][0-9]{2}:[0-9]{2})$/)),
      (text) => {
        const instant = parseInstant(text);
        if (instant !== null) assert.equal(parseInstant(instant), instant);
      },
    ),
    { numRuns: 3_000 },
  );
});
