import type { StripeRow } from "../../core/routing-table.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import type { MerchantAnswer } from "../upstream/answers.ts";
import { lookUpIn } from "./look-up-in.ts";
import { type CreateInput, NOT_ILL } from "./attempt.ts";
import { answerKnown, orderOfPointer } from "./replay.ts";

/** 421: the table is behind the stripe. */
export interface Moved {
  readonly moved: true;
  readonly routingVersion: number | undefined;
}

/**
 * Before a create jumps from a home that takes none now but may well be alive (blocked, cooled, called unhealthy by
 * others): is the number known
 * there? Without this question a retry of a placed order would make a second one during every planned block. A home
 * that does not answer is treated like one that cannot take the order; one that is not the home any more says so.
 */
export async function knownAtHome(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  home: StripeRow,
  partition: string,
  timeoutMs: number,
): Promise<MerchantAnswer | Moved | undefined> {
  if (ctx.fleet.line(home.stripe)?.client.mask.admit() !== true) return undefined;
  const { mchid, out_trade_no: outTradeNo } = input.order;
  const key = { mchid, outTradeNo };
  const where = { in: "index", partition } as const;
  const found = await lookUpIn(ctx, rq, home.stripe, key, input.bucket, where, timeoutMs);
  // What the proxy itself did not send says nothing of the home.
  if (found.kind !== "away") ctx.fleet.line(home.stripe)?.client.mask.succeeded();
  else if (!NOT_ILL.has(found.reason)) ctx.fleet.line(home.stripe)?.client.mask.failed();
  if (found.kind === "misdirected") return { moved: true, routingVersion: found.routingVersion };
  if (found.kind === "order") return answerKnown(ctx, rq, input, found.answer, undefined);
  if (found.kind !== "pointer") return undefined;
  const order = await orderOfPointer(ctx, rq, found.pointer);
  return answerKnown(
    ctx,
    rq,
    input,
    order,
    found.requestHash === undefined ? undefined : found.requestHash === input.requestHash,
  );
}
