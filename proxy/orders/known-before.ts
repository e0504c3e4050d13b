// A merchant that was moved to another partition has numbers in the one it left. They are recognised there for ever, so a
// create asks before it places anything.
import { DomainError } from "../../core/errors.ts";
import type { MerchantRoute } from "../../core/partitions.ts";
import type { OrderKey } from "../../core/placement.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import type { MerchantAnswer } from "../upstream/answers.ts";
import type { CreateInput } from "./attempt.ts";
import { findInPartition, formerOf } from "./look-up-order.ts";
import { answerKnown } from "./replay.ts";

/**
 * The answer for a number that a former partition of the merchant knows, or undefined: at once when it has none.
 * @throws DomainError STRIPE_UNAVAILABLE (nothing written) when a stripe that may know it cannot be asked: handoffs
 *   settle doubles within one partition only, so here certainty comes before availability
 */
export function knownBefore(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  key: OrderKey,
  route: MerchantRoute,
): Promise<MerchantAnswer | undefined> | undefined {
  const former = formerOf(ctx, route);
  return former.length === 0 ? undefined : ask(ctx, rq, input, key, former);
}

async function ask(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  key: OrderKey,
  partitions: readonly string[],
): Promise<MerchantAnswer | undefined> {
  for (const partition of partitions) {
    const known = await findInPartition(ctx, rq, key, partition, { stripes: 0 });
    if (known.kind === "order") return answerKnown(ctx, rq, input, known.answer, undefined);
    if (known.kind === "miss") continue;
    throw new DomainError(
      "STRIPE_UNAVAILABLE",
      `partition ${partition}, where the merchant was before, cannot be asked`,
      {
        retryAfterS: 1,
      },
    );
  }
  return undefined;
}
