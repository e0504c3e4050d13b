import type { Bucket } from "../../core/ids.ts";
import type { OrderKey } from "../../core/placement.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { errorOf, headerOf, isSuccess, jsonOf } from "../upstream/answers.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import { ANSWER_MARGIN_MS } from "./call-stripe.ts";

export type Found =
  | { readonly kind: "order"; readonly answer: WireAnswer }
  /** Known there; the order is on another stripe. */
  | { readonly kind: "pointer"; readonly pointer: string; readonly requestHash: string | undefined }
  /** Not there, for certain. */
  | { readonly kind: "miss" }
  /** Not the home (421). */
  | { readonly kind: "misdirected"; readonly routingVersion: number | undefined }
  /** No answer, or none that says anything. */
  | { readonly kind: "away"; readonly reason: string };

/** Which of a stripe's tables is asked, and the partition that the stripe is taken to be in (else 421). */
export interface Where {
  readonly in: "index" | "handoffs";
  readonly partition: string;
}

/** Asks one stripe for a merchant number in its index or its handoffs. Never rejects. */
export async function lookUpIn(
  ctx: ProxyContext,
  rq: RequestContext,
  stripe: number,
  key: OrderKey,
  bucket: Bucket,
  where: Where,
  tryTimeoutMs: number,
): Promise<Found> {
  const line = ctx.fleet.line(stripe);
  if (line === undefined) return { kind: "away", reason: "no_instance" };
  const query = new URLSearchParams({
    mchid: key.mchid,
    out_trade_no: key.outTradeNo,
    bucket: String(bucket),
    in: where.in,
  });
  const budgetMs = Math.min(rq.deadline.remainingMs() - ANSWER_MARGIN_MS, tryTimeoutMs);
  const outcome = await line.client.call(
    { method: "GET", path: `${INTERNAL_BASE}/lookup?${query.toString()}` },
    {
      budgetMs,
      tryTimeoutMs: budgetMs,
      headers: { ...rq.wireHeaders, [WIRE_HEADERS.partition]: where.partition },
      merchant: key.mchid,
      routingVersion: ctx.tables.current?.version ?? 0,
    },
  );
  if (outcome.kind !== "answer") return { kind: "away", reason: outcome.reason };
  const pointer = headerOf(outcome, WIRE_HEADERS.orderPointer);
  if (isSuccess(outcome) && pointer !== undefined) {
    const body = jsonOf(outcome) as { request_hash?: unknown } | undefined;
    const requestHash = typeof body?.request_hash === "string" ? body.request_hash : undefined;
    return { kind: "pointer", pointer, requestHash };
  }
  if (isSuccess(outcome)) return { kind: "order", answer: outcome };
  const error = errorOf(outcome);
  if (error.code === "ORDER_NOT_EXIST") return { kind: "miss" };
  if (error.code === "MISDIRECTED") return { kind: "misdirected", routingVersion: error.extras.routingVersion };
  return { kind: "away", reason: error.code };
}
