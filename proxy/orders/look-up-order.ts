// Look-up by merchant number: the home's index; on a miss there, or with the home away, the handoffs of the partition's
// other stripes in the key's order; then, for a merchant that was elsewhere before, the same in its former partitions.
// "No such order" is said only when every one of them has said so.
import type { Bucket } from "../../core/ids.ts";
import { DomainError } from "../../core/errors.ts";
import type { MerchantRoute } from "../../core/partitions.ts";
import { bucketOf, type OrderKey } from "../../core/placement.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { jsonOf, type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import { standing } from "./chain.ts";
import { type Found, lookUpIn } from "./look-up-in.ts";
import { orderOfPointer } from "./replay.ts";
import { refreshPast } from "./refresh.ts";

/** Stripes asked at the same time. */
const PARALLEL_MAX = 8;
const PAID: ReadonlySet<unknown> = new Set(["SUCCESS", "REFUND"]);

/** What a whole partition says of a merchant number. */
export type Known =
  | { readonly kind: "order"; readonly answer: WireAnswer }
  /** None of its stripes knows the number, for certain. */
  | { readonly kind: "miss" }
  /** Not every stripe that may know it could be asked. */
  | { readonly kind: "away" };

/**
 * A table that is old may lack a stripe that an order has jumped to, so that nothing is missing by an old one.
 * @throws DomainError ORDER_NOT_EXIST (certain), STRIPE_UNAVAILABLE when not everyone could be asked
 */
export async function lookUpOrder(ctx: ProxyContext, rq: RequestContext, key: OrderKey): Promise<MerchantAnswer> {
  const before = ctx.tables.current?.version;
  const found = await lookUpOnce(ctx, rq, key);
  if (found !== "missing") return found;
  if (!(await ctx.tables.refresh())) throw notEverybody();
  const again = ctx.tables.current?.version === before ? "missing" : await lookUpOnce(ctx, rq, key);
  if (again !== "missing") return again;
  throw new DomainError("ORDER_NOT_EXIST", "no order has this merchant number");
}

function notEverybody(): DomainError {
  return new DomainError("STRIPE_UNAVAILABLE", "not every stripe that may hold the order could be asked", {
    retryAfterS: 1,
  });
}

/** By the present table. @throws DomainError STRIPE_UNAVAILABLE when not everyone could be asked */
async function lookUpOnce(ctx: ProxyContext, rq: RequestContext, key: OrderKey): Promise<MerchantAnswer | "missing"> {
  const route = ctx.tables.current?.merchant(key.mchid);
  const asked = { stripes: 0 };
  let away = route === undefined;
  for (const partition of route === undefined ? [] : [route.partition, ...formerOf(ctx, route)]) {
    const known = await findInPartition(ctx, rq, key, partition, asked);
    if (known.kind === "order") {
      ctx.metrics.lookupStripes.observe(asked.stripes);
      return passedOn(await standing(ctx, rq, known.answer));
    }
    away ||= known.kind === "away";
  }
  ctx.metrics.lookupStripes.observe(asked.stripes);
  if (away) throw notEverybody();
  return "missing";
}

/** Partitions that may hold numbers of the merchant from before, as far as they ever took orders. */
export function formerOf(ctx: ProxyContext, { formerPartitions }: MerchantRoute): readonly string[] {
  if (formerPartitions.length === 0) return formerPartitions;
  return formerPartitions.filter((partition) => ctx.tables.current?.hasHomes(partition) === true);
}

/**
 * Asks a partition for a merchant number: its home, then the handoffs of the others.
 * @param asked counts the stripes asked
 * @throws DomainError STRIPE_UNAVAILABLE naming the order when it is known and its stripe does not answer
 */
export async function findInPartition(
  ctx: ProxyContext,
  rq: RequestContext,
  key: OrderKey,
  partition: string,
  asked: { stripes: number },
): Promise<Known> {
  const bucket = bucketOf(key);
  const home = await askHome(ctx, rq, key, bucket, partition);
  asked.stripes += 1;
  if (home.kind === "order") return home;
  if (home.kind === "pointer") {
    asked.stripes += 1;
    return { kind: "order", answer: await orderOfPointer(ctx, rq, home.pointer) };
  }
  // A home may have become one while an order was jumping there: then its own handoffs hold what its index lacks.
  const others = otherStripes(ctx, key, bucket, partition, home.kind === "miss");
  asked.stripes += others.length - (home.kind === "miss" ? 1 : 0);
  const answers = await askHandoffs(ctx, rq, key, bucket, partition, others);
  const found = answers.flatMap((answer) => (answer.kind === "order" ? [answer.answer] : []));
  const best = found.find(isPaid) ?? found[0];
  if (best !== undefined) return { kind: "order", answer: best };
  return { kind: home.kind === "miss" && answers.every(({ kind }) => kind === "miss") ? "miss" : "away" };
}

async function askHome(
  ctx: ProxyContext,
  rq: RequestContext,
  key: OrderKey,
  bucket: Bucket,
  partition: string,
): Promise<Found> {
  for (let refreshed = false; ; refreshed = true) {
    const home = ctx.tables.current?.home(partition, bucket);
    if (home === undefined) return { kind: "away", reason: "no home" };
    const where = { in: "index", partition } as const;
    const found = await lookUpIn(ctx, rq, home.stripe, key, bucket, where, ctx.limits.attemptTimeoutMs);
    if (found.kind !== "misdirected" || refreshed) return found;
    ctx.metrics.misdirected.inc({ stripe: home.stripe });
    await refreshPast(ctx, found.routingVersion);
  }
}

function otherStripes(
  ctx: ProxyContext,
  key: OrderKey,
  bucket: Bucket,
  partition: string,
  withHome: boolean,
): StripeRow[] {
  const view = ctx.tables.current;
  if (view === null) return [];
  const home = view.home(partition, bucket);
  return view.inKeyOrder(view.members(partition), key).filter((row) => withHome || row.stripe !== home?.stripe);
}

/** Answers in the order of `stripes`. */
async function askHandoffs(
  ctx: ProxyContext,
  rq: RequestContext,
  key: OrderKey,
  bucket: Bucket,
  partition: string,
  stripes: readonly StripeRow[],
): Promise<Found[]> {
  const answers: Found[] = [];
  for (let from = 0; from < stripes.length; from += PARALLEL_MAX) {
    const some = stripes.slice(from, from + PARALLEL_MAX);
    const ask = ({ stripe }: StripeRow): Promise<Found> =>
      lookUpIn(ctx, rq, stripe, key, bucket, { in: "handoffs", partition }, ctx.limits.attemptTimeoutMs);
    answers.push(...(await Promise.all(some.map(ask))));
  }
  return answers;
}

function isPaid(answer: WireAnswer): boolean {
  return PAID.has((jsonOf(answer) as { trade_state?: unknown } | undefined)?.trade_state);
}
