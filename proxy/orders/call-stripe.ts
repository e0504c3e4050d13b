// Calls that belong to one stripe and to no other: pay, query, close, refund. Never jumps.
import { DomainError, NOTHING_WRITTEN } from "../../core/errors.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { countShed } from "../metrics.ts";
import { tooManyInFlight } from "../overload/too-many.ts";
import { errorOf, isSuccess } from "../upstream/answers.ts";
import type { StripeOutcome, StripeRequest } from "../upstream/stripe-client.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import { refreshPast } from "./refresh.ts";

export type CallKind = "read" | "write";

/** Kept back from the deadline, so that an answer or an honest 504 still arrives in time. */
export const ANSWER_MARGIN_MS = 50;

/**
 * Calls the stripe and answers what it says; a 421 refreshes the routing table and is retried once.
 * @returns a 2xx answer
 * @throws DomainError the service's own error, or what its silence means: STRIPE_UNAVAILABLE (nothing written),
 * NOT_DURABLE, TIMEOUT, SYSTEM_ERROR (unknown), OVERLOADED
 */
export async function callStripe(
  ctx: ProxyContext,
  rq: RequestContext,
  stripe: number,
  request: StripeRequest,
  kind: CallKind,
): Promise<WireAnswer> {
  await knownRow(ctx, stripe);
  let outcome = await callOnce(ctx, rq, stripe, request, kind);
  if (outcome.kind === "answer" && outcome.status === 421) {
    ctx.metrics.misdirected.inc({ stripe });
    await refreshPast(ctx, errorOf(outcome).extras.routingVersion);
    const again = await callOnce(ctx, rq, stripe, request, kind);
    outcome = keepUnknown(outcome.earlierUnknown, again);
  }
  if (outcome.kind === "answer" && isSuccess(outcome)) return outcome;
  throw failureOf(outcome, kind);
}

function keepUnknown(earlierUnknown: boolean, outcome: StripeOutcome): StripeOutcome {
  if (!earlierUnknown) return outcome;
  if (outcome.kind === "answer") return { ...outcome, earlierUnknown };
  return outcome.kind === "unwritten" ? { kind: "unknown", reason: "connection_lost" } : outcome;
}

async function callOnce(
  ctx: ProxyContext,
  rq: RequestContext,
  stripe: number,
  request: StripeRequest,
  kind: CallKind,
): Promise<StripeOutcome> {
  const line = ctx.fleet.line(stripe);
  if (line === undefined) return { kind: "unwritten", reason: "no_instance" };
  const outcome = await line.client.call(request, {
    budgetMs: rq.deadline.remainingMs() - ANSWER_MARGIN_MS,
    tryTimeoutMs: ctx.limits.attemptTimeoutMs,
    yields: kind === "read",
    headers: rq.wireHeaders,
    routingVersion: ctx.tables.current?.version ?? 0,
  });
  countShed(ctx, stripe, outcome);
  return outcome;
}

/**
 * The table's row of a stripe. A stripe that our table does not know may be newer than the table.
 * @throws DomainError ORDER_NOT_EXIST when the table is fresh and has no such stripe, else STRIPE_UNAVAILABLE
 */
export async function knownRow(ctx: ProxyContext, stripe: number): Promise<StripeRow> {
  const row = ctx.tables.current?.stripe(stripe);
  if (row !== undefined) return row;
  const fresh = await ctx.tables.refresh();
  const newer = ctx.tables.current?.stripe(stripe);
  if (newer !== undefined) return newer;
  if (fresh) throw new DomainError("ORDER_NOT_EXIST", "the number is well formed, but no stripe holds such an order");
  throw new DomainError("STRIPE_UNAVAILABLE", "the stripe of this number is not known here yet", { retryAfterS: 1 });
}

function failureOf(outcome: StripeOutcome, kind: CallKind): DomainError {
  if (outcome.kind === "answer") return answeredError(outcome, kind);
  if (outcome.kind === "unwritten") {
    switch (outcome.reason) {
      case "overloaded":
        return new DomainError("OVERLOADED", "too many requests for this stripe are in flight", { retryAfterS: 1 });
      case "hot_merchant":
        return tooManyInFlight();
      default:
        return new DomainError("STRIPE_UNAVAILABLE", "the stripe that holds the order cannot be reached", {
          retryAfterS: 1,
        });
    }
  }
  switch (outcome.reason) {
    case "timeout":
      return new DomainError("TIMEOUT", "the stripe that holds the order did not answer in time");
    case "bad_answer":
      return new DomainError("SYSTEM_ERROR", "the stripe's answer was not understood");
    case "connection_lost":
      return kind === "read"
        ? new DomainError("STRIPE_UNAVAILABLE", "the connection to the stripe was lost", { retryAfterS: 1 })
        : new DomainError("NOT_DURABLE", "the connection to the stripe was lost before it answered");
    default:
      return outcome satisfies never;
  }
}

function answeredError(outcome: StripeOutcome & { kind: "answer" }, kind: CallKind): DomainError {
  const error = errorOf(outcome);
  if (kind === "write" && outcome.earlierUnknown && NOTHING_WRITTEN.has(error.code)) {
    return new DomainError("NOT_DURABLE", "an earlier try of this request was not answered");
  }
  // A merchant never sees a 421: after a refresh it only means that the stripe is between two places.
  if (error.code !== "MISDIRECTED") return error;
  return new DomainError("STRIPE_UNAVAILABLE", "the stripe that holds the order is on the move", { retryAfterS: 1 });
}
