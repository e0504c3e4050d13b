// Answers to a create whose merchant number is known already.
import { z } from "zod";
import { DomainError } from "../../core/errors.ts";
import { contentOf, differingFields, type OrderContent } from "../../core/order-content.ts";
import { EXPIRE_DEFAULT_MS } from "../../core/order-states.ts";
import { type Order, orderSchema } from "../../core/schemas/orders.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { jsonOf, type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import type { AttemptResult, CreateInput } from "./attempt.ts";
import { fetchOrder, knownButAway, standing } from "./chain.ts";

const REPLAYED = { "idempotent-replayed": "true" };

/**
 * A 200 of the stripe that holds the order. When the order is the one that this very request has placed (its first
 * answer was lost on the way), it is new to the merchant.
 */
export async function answerReplay(
  ctx: ProxyContext,
  rq: RequestContext,
  answer: WireAnswer,
  ownNumber: string,
): Promise<MerchantAnswer> {
  const order = jsonOf(answer) as { transaction_id?: unknown } | undefined;
  if (order?.transaction_id === ownNumber) return { status: 201, headers: {}, body: answer.body };
  const last = await standing(ctx, rq, answer);
  return { ...passedOn(last), headers: REPLAYED };
}

/**
 * An earlier attempt of this very request that was not answered may have placed the order after all, and be recognised
 * by a later one: to the merchant that order is new.
 * @param failed numbers of those attempts
 */
export function newToMerchant(answer: MerchantAnswer, failed: readonly string[]): MerchantAnswer {
  if (answer.status !== 200 || failed.length === 0) return answer;
  const { transaction_id: id } = JSON.parse(answer.body.toString()) as { transaction_id?: unknown };
  if (!failed.some((number) => number === id)) return answer;
  const { "idempotent-replayed": _, ...headers } = answer.headers;
  return { ...answer, status: 201, headers };
}

const pointerBodySchema = z.object({ request_hash: z.string() });

/**
 * The key's order is on another stripe: it is fetched from there, nothing is created.
 * @throws DomainError OUT_TRADE_NO_USED, or STRIPE_UNAVAILABLE naming the order when its stripe does not answer
 */
export async function answerPointer(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  result: AttemptResult & { kind: "pointer" },
): Promise<MerchantAnswer> {
  const body = pointerBodySchema.safeParse(jsonOf(result.answer));
  const order = await orderOfPointer(ctx, rq, result.pointer);
  const same = body.success ? body.data.request_hash === input.requestHash : undefined;
  return answerKnown(ctx, rq, input, order, same);
}

/** The order that a pointer names. @throws DomainError STRIPE_UNAVAILABLE with its number when it cannot be had */
export async function orderOfPointer(ctx: ProxyContext, rq: RequestContext, pointer: string): Promise<WireAnswer> {
  try {
    return await fetchOrder(ctx, rq, pointer);
  } catch (error) {
    throw knownButAway(ctx, rq, pointer, error);
  }
}

/**
 * Answers a create with the order found for its number.
 * @param same whether the contents are equal, as a stripe's stored hash says; undefined when no hash is at hand
 * @throws DomainError OUT_TRADE_NO_USED naming the differing fields
 */
export async function answerKnown(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  found: WireAnswer,
  same: boolean | undefined,
): Promise<MerchantAnswer> {
  const order = orderSchema.safeParse(jsonOf(found));
  if (!order.success) throw new DomainError("SYSTEM_ERROR", "the stored order cannot be read");
  const fields = differingFields(contentOf(input.order), contentShown(order.data, input.order.time_expire));
  if (same ?? fields.length === 0) return { ...passedOn(await standing(ctx, rq, found)), headers: REPLAYED };
  throw new DomainError("OUT_TRADE_NO_USED", "the merchant order number names an order with other content", {
    conflict: { transaction_id: order.data.transaction_id, fields },
  });
}

/** An order shows its expiry whether it was given or not: the default counts as "not given" for a create without. */
function contentShown(order: Order, wanted: string | undefined): OrderContent {
  const isDefault = Date.parse(order.time_expire) - Date.parse(order.create_time) === EXPIRE_DEFAULT_MS;
  return {
    description: order.description,
    "amount.total": String(order.amount.total),
    "amount.currency": order.amount.currency,
    time_expire: wanted === undefined && isDefault ? null : order.time_expire,
    notify_url: order.notify_url ?? null,
    attach: order.attach ?? null,
    payer: order.payer?.openid ?? null,
  };
}
