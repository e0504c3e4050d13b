// One attempt to place an order on one stripe: one number, possibly several tries at the stripe's instances.
import type { TransactionId } from "../../core/ids.ts";
import type { Bucket } from "../../core/ids.ts";
import { NOTHING_WRITTEN } from "../../core/errors.ts";
import { mintTransactionId } from "../../core/order-number.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { INTERNAL_BASE, WIRE_HEADERS, type WireCreate } from "../../core/schemas/wire.ts";
import { Deadline, wallNowMs } from "../../runtime/clock.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { errorOf, headerOf, isSuccess } from "../upstream/answers.ts";
import { countShed } from "../metrics.ts";
import type { StripeOutcome } from "../upstream/stripe-client.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";
import type { Candidate } from "./candidates.ts";

/** Of the time of an attempt, what an instance gets while another one is left: a frozen one must leave time for it. */
const FIRST_TRY_SHARE = 0.6;

/** What stays the same over all attempts of one create. */
export interface CreateInput {
  readonly order: CreateOrder;
  readonly bucket: Bucket;
  readonly requestHash: string;
}

/** `earlierUnknown`: an earlier try with this number was not answered. */
export type DecidedAnswer = WireAnswer & { readonly earlierUnknown: boolean };

export type AttemptResult =
  /** Created here, recognised here, or refused for ever: the request is decided. */
  | { readonly kind: "decided"; readonly answer: DecidedAnswer; readonly transactionId: TransactionId }
  /** The key is known; its order is on another stripe. Decided too: nothing may be created after it. */
  | { readonly kind: "pointer"; readonly answer: WireAnswer; readonly pointer: string }
  /** 421. `unknown`: an earlier try with this number was not answered. */
  | { readonly kind: "misdirected"; readonly routingVersion: number | undefined; readonly unknown?: TransactionId }
  /** Nothing was written, for certain. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The order may exist under this number. */
  | { readonly kind: "unknown"; readonly reason: string; readonly unknown: TransactionId };

/**
 * Places the order under a new number.
 * @param failed this request's earlier numbers whose outcome is unknown, oldest first
 * @param budgetMs for everything, a sequence number included
 */
export async function attemptCreate(
  ctx: ProxyContext,
  rq: RequestContext,
  input: CreateInput,
  candidate: Candidate,
  failed: readonly TransactionId[],
  budgetMs: number,
): Promise<AttemptResult> {
  const { stripe } = candidate.row;
  const line = ctx.fleet.line(stripe);
  if (line === undefined) return { kind: "refused", reason: "no_instance" };
  const budget = new Deadline(budgetMs);
  const sequence = line.sequences.take() ?? (await line.sequences.next(budget));
  if (sequence === null) {
    line.client.mask.failed();
    return { kind: "refused", reason: "no_sequence" };
  }
  const transactionId = mintTransactionId(stripe, wallNowMs(), sequence);
  const body: WireCreate = {
    transaction_id: transactionId,
    bucket: input.bucket,
    as: candidate.as,
    failed: [...failed],
    request_hash: input.requestHash,
    order: input.order,
  };
  const outcome = await line.client.call(
    { method: "POST", path: `${INTERNAL_BASE}/orders`, body: JSON.stringify(body) },
    {
      budgetMs: budget.remainingMs(),
      tryTimeoutMs: budgetMs * FIRST_TRY_SHARE,
      headers: { ...rq.wireHeaders, [WIRE_HEADERS.partition]: candidate.row.partition },
      merchant: input.order.mchid,
      routingVersion: ctx.tables.current?.version ?? 0,
    },
  );
  countShed(ctx, stripe, outcome);
  const result = resultOf(outcome, transactionId);
  noteHealth(line.client.mask, result);
  return result;
}

function resultOf(outcome: StripeOutcome, transactionId: TransactionId): AttemptResult {
  if (outcome.kind === "unwritten") return { kind: "refused", reason: outcome.reason };
  if (outcome.kind === "unknown") return { kind: "unknown", reason: outcome.reason, unknown: transactionId };
  const pointer = headerOf(outcome, WIRE_HEADERS.orderPointer);
  if (pointer !== undefined && outcome.status < 500) return { kind: "pointer", answer: outcome, pointer };
  if (isSuccess(outcome)) return { kind: "decided", answer: outcome, transactionId };
  const { code, extras } = errorOf(outcome);
  if (code === "MISDIRECTED") {
    const routingVersion = extras.routingVersion;
    return { kind: "misdirected", routingVersion, ...(outcome.earlierUnknown ? { unknown: transactionId } : {}) };
  }
  if (NOTHING_WRITTEN.has(code) && !outcome.earlierUnknown) return { kind: "refused", reason: code };
  const decided =
    outcome.status >= 400 && outcome.status < 500 && code !== "SYSTEM_ERROR" && !NOTHING_WRITTEN.has(code);
  if (decided) return { kind: "decided", answer: outcome, transactionId };
  return { kind: "unknown", reason: code, unknown: transactionId };
}

/** Busy or elsewhere is not ill; silence and storage that does not confirm are. */
export const NOT_ILL: ReadonlySet<string> = new Set(["overloaded", "hot_merchant", "OVERLOADED", "RATELIMIT_EXCEEDED"]);

function noteHealth(mask: { succeeded(): void; failed(): void }, result: AttemptResult): void {
  if (result.kind === "decided" || result.kind === "pointer") mask.succeeded();
  else if (result.kind !== "misdirected" && !NOT_ILL.has(result.reason)) mask.failed();
}
