// Orders that were superseded after an outage name the order that stands for their merchant number now.
import { DomainError } from "../../core/errors.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { parseTransactionId } from "../../core/order-number.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { jsonOf, type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import { callStripe } from "./call-stripe.ts";

const HOPS_MAX = 4;
const SUPERSEDED = Buffer.from('"superseded_by"');

type OrderBody = Record<string, unknown>;

/** GET of one order from its own stripe. @throws DomainError as callStripe */
export function fetchOrder(ctx: ProxyContext, rq: RequestContext, transactionId: string): Promise<WireAnswer> {
  const { id, stripe } = parseTransactionId(transactionId);
  return callStripe(ctx, rq, stripe, { method: "GET", path: `${INTERNAL_BASE}/orders/${id}` }, "read");
}

/** What the order in an answer says of its successor; undefined for one that stands. Cheap when it is absent. */
function successorOf(answer: WireAnswer): { order: OrderBody; next: string } | undefined {
  if (!answer.body.includes(SUPERSEDED)) return undefined;
  const order = jsonOf(answer) as OrderBody | undefined;
  const next = order?.superseded_by;
  return order !== undefined && typeof next === "string" ? { order, next } : undefined;
}

/** The last order that can be reached from `answer` along `superseded_by`, and what stopped it if it is not the end. */
async function follow(
  ctx: ProxyContext,
  rq: RequestContext,
  answer: WireAnswer,
): Promise<{ readonly last: WireAnswer; readonly failure?: unknown }> {
  let last = answer;
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const successor = successorOf(last);
    if (successor === undefined) break;
    try {
      last = await fetchOrder(ctx, rq, successor.next);
    } catch (failure) {
      return { last, failure };
    }
  }
  return { last };
}

/** A query by order number: the order itself, its `superseded_by` naming the end of the chain as far as it can be told. */
export async function withChainEnd(ctx: ProxyContext, rq: RequestContext, answer: WireAnswer): Promise<MerchantAnswer> {
  const successor = successorOf(answer);
  if (successor === undefined) return passedOn(answer);
  const { last } = await follow(ctx, rq, answer);
  const end = successorOf(last)?.next ?? (jsonOf(last) as OrderBody | undefined)?.transaction_id;
  return { ...passedOn(answer), body: JSON.stringify({ ...successor.order, superseded_by: end ?? successor.next }) };
}

/**
 * By merchant number: the order that stands for it now. One that gave way must not be taken for it: the other may be paid.
 * @throws DomainError STRIPE_UNAVAILABLE naming the order that stands, when its stripe does not answer
 */
export async function standing(ctx: ProxyContext, rq: RequestContext, answer: WireAnswer): Promise<WireAnswer> {
  const { last, failure } = await follow(ctx, rq, answer);
  const next = successorOf(last)?.next;
  if (next !== undefined) throw knownButAway(ctx, rq, next, failure);
  return last === answer ? answer : { ...last, status: answer.status };
}

/** The number is known, and what became of its order cannot be read. */
export function knownButAway(ctx: ProxyContext, rq: RequestContext, transactionId: string, err: unknown): DomainError {
  ctx.logger.warn({ err, request_id: rq.requestId, transaction_id: transactionId }, "the known order cannot be read");
  return new DomainError("STRIPE_UNAVAILABLE", "the order is known, and its stripe cannot be reached now", {
    conflict: { transaction_id: transactionId },
    retryAfterS: 1,
  });
}
