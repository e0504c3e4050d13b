// Look-up by merchant number: the home's index; on a miss there, or with the home away, the handoffs of the partition's
// other stripes in the key's order. "No such order" is said only when every one of them has said so.
import type { Bucket } from "../../core/ids.ts";
import { DomainError } from "../../core/errors.ts";
import { bucketOf, type OrderKey } from "../../core/placement.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { jsonOf, type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import type { WireAnswer } from "../upstream/wire-call.ts";
import { chainEnd } from "./chain.ts";
import { type Found, lookUpIn } from "./look-up-in.ts";
import { orderOfPointer } from "./replay.ts";
import { refreshPast } from "./refresh.ts";

/** Stripes asked at the same time. */
const PARALLEL_MAX = 8;
const PAID: ReadonlySet<unknown> = new Set(["SUCCESS", "REFUND"]);

/** @throws DomainError ORDER_NOT_EXIST (certain), STRIPE_UNAVAILABLE when not everyone could be asked */
export async function lookUpOrder(ctx: ProxyContext, rq: RequestContext, key: OrderKey): Promise<MerchantAnswer> {
  const bucket = bucketOf(key);
  const home = await askHome(ctx, rq, key, bucket);
  if (home.kind === "order") {
    ctx.metrics.lookupStripes.observe(1);
    return passedOn(await chainEnd(ctx, rq, home.answer));
  }
  if (home.kind === "pointer") {
    ctx.metrics.lookupStripes.observe(2);
    return passedOn(await chainEnd(ctx, rq, await orderOfPointer(ctx, rq, home.pointer)));
  }
  const others = otherStripes(ctx, key, bucket);
  const answers = await askHandoffs(ctx, rq, key, bucket, others);
  ctx.metrics.lookupStripes.observe(1 + others.length);
  const found = answers.flatMap((answer) => (answer.kind === "order" ? [answer.answer] : []));
  const best = found.find(isPaid) ?? found[0];
  if (best !== undefined) return passedOn(await chainEnd(ctx, rq, best));
  if (home.kind === "miss" && answers.every(({ kind }) => kind === "miss")) {
    throw new DomainError("ORDER_NOT_EXIST", "no order has this merchant number");
  }
  throw new DomainError("STRIPE_UNAVAILABLE", "not every stripe that may hold the order could be asked", {
    retryAfterS: 1,
  });
}

async function askHome(ctx: ProxyContext, rq: RequestContext, key: OrderKey, bucket: Bucket): Promise<Found> {
  for (let refreshed = false; ; refreshed = true) {
    const home = homeOf(ctx, key, bucket);
    if (home === undefined) return { kind: "away", reason: "no home" };
    const found = await lookUpIn(ctx, rq, home.stripe, key, bucket, "index", ctx.limits.attemptTimeoutMs);
    if (found.kind !== "misdirected" || refreshed) return found;
    ctx.metrics.misdirected.inc({ stripe: home.stripe });
    await refreshPast(ctx, found.routingVersion);
  }
}

function homeOf(ctx: ProxyContext, key: OrderKey, bucket: Bucket): StripeRow | undefined {
  const view = ctx.tables.current;
  return view?.home(view.merchant(key.mchid).partition, bucket);
}

function otherStripes(ctx: ProxyContext, key: OrderKey, bucket: Bucket): StripeRow[] {
  const view = ctx.tables.current;
  if (view === null) return [];
  const home = homeOf(ctx, key, bucket);
  const members = view.members(view.merchant(key.mchid).partition);
  return view.inKeyOrder(members, key).filter((row) => row.stripe !== home?.stripe);
}

/** Answers in the order of `stripes`. */
async function askHandoffs(
  ctx: ProxyContext,
  rq: RequestContext,
  key: OrderKey,
  bucket: Bucket,
  stripes: readonly StripeRow[],
): Promise<Found[]> {
  const answers: Found[] = [];
  for (let from = 0; from < stripes.length; from += PARALLEL_MAX) {
    const some = stripes.slice(from, from + PARALLEL_MAX);
    const ask = ({ stripe }: StripeRow): Promise<Found> =>
      lookUpIn(ctx, rq, stripe, key, bucket, "handoffs", ctx.limits.attemptTimeoutMs);
    answers.push(...(await Promise.all(some.map(ask))));
  }
  return answers;
}

function isPaid(answer: WireAnswer): boolean {
  return PAID.has((jsonOf(answer) as { trade_state?: unknown } | undefined)?.trade_state);
}
