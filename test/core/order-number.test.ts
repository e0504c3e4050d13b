import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stripeNo } from "../../core/ids.ts";
import {
  BadNumberError,
  checkDigits,
  mintRefundId,
  mintTransactionId,
  NUMBER_LENGTH,
  parseNumber,
  parseRefundId,
  parseTransactionId,
  SEQUENCE_MODULUS,
} from "../../core/order-number.ts";

const stripes = fc.integer({ min: 1, max: 9999 }).map(stripeNo);
const firstMs = Date.UTC(2000, 0, 1);
const lastMs = Date.UTC(2099, 11, 31, 23, 59, 59, 999);
const instants = fc.integer({ min: firstMs, max: lastMs });
const sequences = fc.maxSafeNat();
const numbers = fc.tuple(stripes, instants, sequences).map(([s, ms, n]) => mintTransactionId(s, ms, n));

test("an order number says which stripe, second and sequence it was minted with", () => {
  fc.assert(
    fc.property(stripes, instants, sequences, (stripe, ms, sequence) => {
      const id = mintTransactionId(stripe, ms, sequence);
      assert.match(id, /^10[0-9]{26}$/);
      const parsed = parseNumber(id);
      assert.deepEqual(parsed, {
        kind: "order",
        version: 10,
        stripe,
        mintedAtMs: Math.floor(ms / 1000) * 1000,
        sequence: sequence % SEQUENCE_MODULUS,
      });
      assert.deepEqual(parseTransactionId(id), { id, stripe });
    }),
    { numRuns: 2_000 },
  );
});

test("refund numbers have their own version, and neither kind stands in for the other", () => {
  fc.assert(
    fc.property(stripes, instants, sequences, (stripe, ms, sequence) => {
      const refund = mintRefundId(stripe, ms, sequence);
      assert.deepEqual(parseRefundId(refund), { id: refund, stripe });
      assert.throws(() => parseTransactionId(refund), BadNumberError);
      assert.throws(() => parseRefundId(mintTransactionId(stripe, ms, sequence)), BadNumberError);
    }),
  );
});

test("every single wrong digit is caught", () => {
  fc.assert(
    fc.property(numbers, (id) => {
      for (let at = 0; at < NUMBER_LENGTH; at++) {
        for (let digit = 0; digit <= 9; digit++) {
          if (String(digit) === id[at]) continue;
          const wrong = id.slice(0, at) + String(digit) + id.slice(at + 1);
          assert.throws(() => parseNumber(wrong), BadNumberError, wrong);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test("every swap of two neighbouring digits is caught", () => {
  fc.assert(
    fc.property(numbers, (id) => {
      for (let at = 0; at + 1 < NUMBER_LENGTH; at++) {
        if (id[at] === id[at + 1]) continue;
        const wrong = id.slice(0, at) + String(id[at + 1]) + String(id[at]) + id.slice(at + 2);
        assert.throws(() => parseNumber(wrong), BadNumberError, wrong);
      }
    }),
    { numRuns: 500 },
  );
});

test("check digits are those of an IBAN: the whole number leaves remainder 1 modulo 97", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{26}$/), (body) => {
      const digits = checkDigits(body);
      assert.equal(BigInt(body + digits) % 97n, 1n);
      assert.ok(Number(digits) >= 2 && Number(digits) <= 98);
    }),
  );
});

test("no string makes the parser throw anything but BadNumberError, and what it takes is a fixed point", () => {
  const nearMisses = fc.stringMatching(/^(10|50)[0-9]{26}$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9]{28}$/), nearMisses), (text) => {
      try {
        const p = parseNumber(text);
        const mint = p.kind === "order" ? mintTransactionId : mintRefundId;
        assert.equal(mint(p.stripe, p.mintedAtMs, p.sequence), text);
      } catch (error) {
        assert.ok(error instanceof BadNumberError);
      }
    }),
    { numRuns: 5_000 },
  );
});

function faultOf(text: string): string {
  try {
    parseNumber(text);
    return "none";
  } catch (error) {
    assert.ok(error instanceof BadNumberError);
    return error.fault;
  }
}

function withChecks(body: string): string {
  return body + checkDigits(body);
}

test("the fault is named: length, characters, version, check digits, stripe, time", () => {
  const good = mintTransactionId(stripeNo(7), Date.UTC(2026, 10, 29, 21, 30, 26), 42);
  assert.equal(faultOf(good), "none");
  assert.equal(faultOf(""), "length");
  assert.equal(faultOf(`${good}0`), "length");
  assert.equal(faultOf(good.slice(1)), "length");
  assert.equal(faultOf(` ${good.slice(1)}`), "characters");
  assert.equal(faultOf(good.replace("0", "０")), "characters");
  assert.equal(faultOf(withChecks(`11${good.slice(2, 26)}`)), "version");
  assert.equal(faultOf(withChecks(`00${good.slice(2, 26)}`)), "version");
  assert.equal(faultOf(withChecks(`100000${good.slice(6, 26)}`)), "stripe");
  assert.equal(faultOf(withChecks(`100007261332213026${good.slice(18, 26)}`)), "time");
  assert.equal(faultOf(withChecks(`100007260230213026${good.slice(18, 26)}`)), "time");
  assert.equal(faultOf(withChecks(`100007261129240000${good.slice(18, 26)}`)), "time");
});

test("check digits that only differ by 97 from the right ones are refused", () => {
  fc.assert(
    fc.property(numbers, (id) => {
      const digits = Number(id.slice(-2));
      for (const other of [digits + 97, digits - 97]) {
        if (other < 0 || other > 99) continue;
        assert.equal(faultOf(id.slice(0, -2) + String(other).padStart(2, "0")), "check digits");
      }
    }),
    { numRuns: 3_000 },
  );
});

test("a stripe number, time or sequence outside its range cannot be minted", () => {
  const one = stripeNo(1);
  for (const n of [0, -1, 10_000, 1.5, Number.NaN]) assert.throws(() => stripeNo(n), RangeError);
  for (const n of [-1, 0.5, Number.NaN, 2 ** 53]) assert.throws(() => mintTransactionId(one, firstMs, n), RangeError);
  for (const ms of [firstMs - 1, lastMs + 1]) assert.throws(() => mintTransactionId(one, ms, 1), RangeError);
});
