import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DomainError, ERROR_CATALOGUE, type ErrorCode, NOTHING_WRITTEN, paramError } from "../../core/errors.ts";
import { problem, problemOf } from "../../core/problem.ts";

const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

test("the catalogue still has every published code with its status", () => {
  // Append only: a line may be added here, none changed.
  const published: Record<string, number> = {
    PARAM_ERROR: 400,
    INVALID_REQUEST: 400,
    AMOUNT_MISMATCH: 400,
    CURRENCY_MISMATCH: 400,
    SIGN_ERROR: 401,
    NO_AUTH: 403,
    NOT_FOUND: 404,
    ORDER_NOT_EXIST: 404,
    REFUND_NOT_EXIST: 404,
    STRIPE_NOT_EXIST: 404,
    METHOD_NOT_ALLOWED: 405,
    NOT_ACCEPTABLE: 406,
    REQUEST_TIMEOUT: 408,
    PAYLOAD_TOO_LARGE: 413,
    UNSUPPORTED_MEDIA_TYPE: 415,
    OUT_TRADE_NO_USED: 409,
    OUT_PAY_NO_USED: 409,
    OUT_REFUND_NO_USED: 409,
    ORDER_PAID: 409,
    ORDER_CLOSED: 409,
    ORDER_EXPIRED: 409,
    ORDER_NOT_PAID: 409,
    REFUND_AMOUNT_EXCEEDED: 409,
    REFUND_COUNT_EXCEEDED: 409,
    REFUND_STATE_CONFLICT: 409,
    STATE_NOT_ALLOWED: 409,
    PRECONDITION_FAILED: 412,
    MISDIRECTED: 421,
    PRECONDITION_REQUIRED: 428,
    RATELIMIT_EXCEEDED: 429,
    SYSTEM_ERROR: 500,
    STRIPE_UNAVAILABLE: 503,
    NO_STRIPE_AVAILABLE: 503,
    STRIPE_READ_ONLY: 503,
    NOT_DURABLE: 503,
    OVERLOADED: 503,
    TIMEOUT: 504,
  };
  for (const [code, status] of Object.entries(published)) {
    assert.equal(ERROR_CATALOGUE[code as ErrorCode]?.status, status, code);
  }
});

test("client faults are not retryable, overload and unknown outcomes are", () => {
  for (const code of codes) {
    const { status, retryable } = ERROR_CATALOGUE[code];
    assert.equal(retryable, status >= 500 || [408, 421, 429].includes(status), code);
  }
});

test("no code whose outcome is unknown counts as a definite refusal", () => {
  for (const code of ["SYSTEM_ERROR", "NOT_DURABLE", "TIMEOUT"]) assert.equal(NOTHING_WRITTEN.has(code), false, code);
  for (const code of NOTHING_WRITTEN) assert.ok(codes.includes(code as ErrorCode), code);
});

test("a problem document carries the code's status, title and retryable, the caller's ids, and no empty members", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...codes),
      fc.string(),
      fc.webPath(),
      fc.uuid(),
      (code, detail, instance, requestId) => {
        const entry = ERROR_CATALOGUE[code];
        const document: unknown = JSON.parse(JSON.stringify(problem(code, detail, instance, requestId)));
        assert.deepEqual(document, {
          type: `urn:striped-orders:error:${code}`,
          title: entry.title,
          status: entry.status,
          detail,
          instance,
          code,
          request_id: requestId,
          retryable: entry.retryable,
        });
      },
    ),
  );
});

test("a domain error's extras are shown, Retry-After is not a member", () => {
  const error = new DomainError("ORDER_PAID", "paid", { order: { version: 2 }, conflict: { a: 1 }, retryAfterS: 3 });
  const document = problemOf(error, "/v1/orders", "r");
  assert.deepEqual(document.order, { version: 2 });
  assert.deepEqual(document.conflict, { a: 1 });
  assert.equal(JSON.stringify(document).includes("etry_after"), false);
  assert.equal(JSON.stringify(document).includes("stack"), false);
  assert.deepEqual(paramError("/amount", "is required").extras.errors, [{ pointer: "/amount", issue: "is required" }]);
});
