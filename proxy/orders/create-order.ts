// Create: home first, then jumps. The rules are those of the jump protocol (docs): a number whose outcome is unknown
// goes into `failed` of the later attempts, in order, within this request only; a definite refusal does not; and after
// a row was found nothing more is tried.
import type { StripeNo, TransactionId } from "../../core/ids.ts";
import { DomainError, ERROR_CATALOGUE } from "../../core/errors.ts";
import { requestHash } from "../../core/order-content.ts";
import { bucketOf, type OrderKey } from "../../core/placement.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { JUMPS_MAX } from "../../core/schemas/wire.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import type { MerchantRoute } from "../../core/partitions.ts";
import type { TableView } from "../../runtime/routing/table-view.ts";
import { errorOf, isSuccess, type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import { attemptCreate, type AttemptResult, type CreateInput, type DecidedAnswer } from "./attempt.ts";
import { tooManyInFlight } from "../overload/too-many.ts";
import { ANSWER_MARGIN_MS } from "./call-stripe.ts";
import { type Candidate, type Plan, planCreate, Turns } from "./candidates.ts";
import { knownAtHome } from "./known-at-home.ts";
import { knownBefore } from "./known-before.ts";
import { answerPointer, answerReplay, newToMerchant } from "./replay.ts";
import { refreshPast } from "./refresh.ts";

/** A stripe that would have been asked before, and why the create went on. */
interface Skipped {
  readonly stripe: StripeNo;
  readonly reason: string;
}

const ATTEMPT_MIN_MS = 20;
/** For the question whether a home that is called unhealthy knows the number: it may be slow. */
const UNHEALTHY_HOME_MS = 250;
const MOVE_POLL_MS = 50;

/** Creates an order, or recognises it. @throws DomainError when no stripe has decided it in time */
export function createOrder(ctx: ProxyContext, rq: RequestContext, order: CreateOrder): Promise<MerchantAnswer> {
  const key = { mchid: order.mchid, outTradeNo: order.out_trade_no };
  const input = { order, bucket: bucketOf(key), requestHash: requestHash(order) };
  const name = `${key.mchid} ${key.outTradeNo} ${input.requestHash}`;
  return ctx.creates.run(name, key.mchid, () => new Creation(ctx, rq, key, input).run());
}

class Creation {
  readonly #ctx: ProxyContext;
  readonly #rq: RequestContext;
  readonly #key: OrderKey;
  readonly #input: CreateInput;
  readonly #failed: TransactionId[] = [];
  readonly #skipped: Skipped[] = [];
  readonly #tried = new Set<StripeNo>();
  #jumps = 0;
  #replanned = false;
  #lastReason = "none";

  constructor(ctx: ProxyContext, rq: RequestContext, key: OrderKey, input: CreateInput) {
    this.#ctx = ctx;
    this.#rq = rq;
    this.#key = key;
    this.#input = input;
  }

  /** Nearly every create waits for one thing, its stripe's answer: what has nothing to wait for is no promise here. */
  async run(): Promise<MerchantAnswer> {
    for (;;) {
      const view = this.#view();
      const route = view.merchant(this.#key.mchid);
      const asked = knownBefore(this.#ctx, this.#rq, this.#input, this.#key, route);
      const before = asked === undefined ? undefined : await asked;
      if (before !== undefined) return this.#toMerchant(before);
      const plan = planCreate(view, route, this.#key, this.#input.bucket);
      const admitted = this.#admitsHome(view, plan, route);
      const homeFirst = typeof admitted === "boolean" ? admitted : await admitted;
      const known = homeFirst ? undefined : await this.#knownAtShunnedHome(plan, route);
      if (known === "replan") continue;
      if (known !== undefined) return this.#toMerchant(known);
      const result = await this.#tryInTurn(view, plan, route, homeFirst);
      if (result === undefined) throw this.#nobodyTookIt();
      if (result !== "replan") return this.#toMerchant(result);
    }
  }

  #toMerchant(answer: MerchantAnswer): MerchantAnswer {
    return newToMerchant(answer, this.#failed);
  }

  /** Whether home comes first: by the table, by verdicts, and by whether it knows of what jumped while it was away. */
  #admitsHome(view: TableView, { home, homeEligible, count }: Plan, route: MerchantRoute): boolean | Promise<boolean> {
    if (home === undefined || !homeEligible) return false;
    if (this.#takenOut(view, route, home.stripe)) {
      this.#ctx.readmission.shut(home.stripe);
      return false;
    }
    return count === 1 || this.#ctx.readmission.admits(home);
  }

  /** A home that is not asked for the order first may know the number all the same. */
  async #knownAtShunnedHome(plan: Plan, route: MerchantRoute): Promise<MerchantAnswer | "replan" | undefined> {
    const { home, homeEligible } = plan;
    if (home === undefined) return undefined;
    const timeoutMs = homeEligible ? UNHEALTHY_HOME_MS : this.#ctx.limits.attemptTimeoutMs;
    const known = await knownAtHome(this.#ctx, this.#rq, this.#input, home, route.partition, timeoutMs);
    if (known !== undefined && "moved" in known) {
      if (await this.#routedElsewhere({ row: home, as: "HOME" }, route, known.routingVersion)) return "replan";
    } else if (known !== undefined) return known;
    if (!homeEligible) this.#skip(home.stripe, "ineligible");
    return undefined;
  }

  #takenOut(view: TableView, route: MerchantRoute, stripe: StripeNo): boolean {
    return this.#ctx.verdicts.takesOut(view, route.partition, stripe);
  }

  #view(): TableView {
    const view = this.#ctx.tables.current;
    if (view === null) throw new DomainError("NO_STRIPE_AVAILABLE", "no routing table yet", { retryAfterS: 1 });
    return view;
  }

  async #tryInTurn(
    view: TableView,
    plan: Plan,
    route: MerchantRoute,
    homeFirst: boolean,
  ): Promise<MerchantAnswer | "replan" | undefined> {
    const admit = (stripe: StripeNo): boolean => {
      if (stripe === plan.home?.stripe) return homeFirst;
      return !this.#takenOut(view, route, stripe) && (this.#ctx.fleet.line(stripe)?.client.mask.admit() ?? true);
    };
    const turns = new Turns(plan, admit, (stripe) =>
      this.#skip(stripe, this.#takenOut(view, route, stripe) ? "unhealthy" : "masked"),
    );
    let left = plan.count;
    for (let candidate = turns.next(); candidate !== undefined; candidate = turns.next()) {
      const jump = candidate.as === "JUMP";
      left -= 1;
      if (this.#tried.has(candidate.row.stripe)) continue;
      if (jump && this.#jumps >= this.#ctx.limits.jumpsMax) continue;
      if (jump) this.#countJump();
      const budgetMs = this.#budgetMs(left);
      if (budgetMs < ATTEMPT_MIN_MS || this.#failed.length > JUMPS_MAX) return undefined;
      const { stripe } = candidate.row;
      const result = await attemptCreate(this.#ctx, this.#rq, this.#input, candidate, this.#failed, budgetMs);
      this.#ctx.metrics.attempts.inc({ stripe, outcome: outcomeLabel(result) });
      if (result.kind === "decided") return this.#decided(candidate, result);
      if (!jump && this.#onlyTheMerchantIsTooMuch(candidate, result)) throw tooManyInFlight();
      if (result.kind === "pointer") return answerPointer(this.#ctx, this.#rq, this.#input, result);
      if (result.kind === "misdirected") {
        if (result.unknown !== undefined) this.#failed.push(result.unknown);
        if (await this.#routedElsewhere(candidate, route, result.routingVersion)) return "replan";
      }
      if (result.kind === "unknown") this.#failed.push(result.unknown);
      this.#tried.add(stripe);
      this.#skip(stripe, outcomeLabel(result));
    }
    return undefined;
  }

  /**
   * A home that answers as usual, and refuses this merchant alone: jumping would take the places of others elsewhere, and make
   * second orders of numbers that the home knows.
   */
  #onlyTheMerchantIsTooMuch({ row }: Candidate, result: AttemptResult): boolean {
    if (result.kind !== "refused" || result.reason !== "hot_merchant") return false;
    const client = this.#ctx.fleet.line(row.stripe)?.client;
    return client?.answersNow === true && !client.slowed;
  }

  /** While other candidates are left an attempt may not eat up the time that a jump needs. */
  #budgetMs(left: number): number {
    const remaining = this.#rq.deadline.remainingMs() - ANSWER_MARGIN_MS;
    const last = left === 0 || this.#jumps >= this.#ctx.limits.jumpsMax;
    return last ? remaining : Math.min(this.#ctx.limits.attemptTimeoutMs, remaining);
  }

  async #decided(candidate: Candidate, result: AttemptResult & { kind: "decided" }): Promise<MerchantAnswer> {
    const { answer, transactionId } = result;
    if (!isSuccess(answer)) throw this.#refusal(answer);
    const passed =
      answer.status === 200 ? await answerReplay(this.#ctx, this.#rq, answer, transactionId) : passedOn(answer);
    if (candidate.as === "HOME" || this.#skipped.length === 0) return passed;
    const from = [...new Set(this.#skipped.map(({ stripe }) => stripe))].join(", ");
    this.#ctx.logger.debug(
      {
        request_id: this.#rq.requestId,
        transaction_id: transactionId,
        stripe: candidate.row.stripe,
        jumped_from: from,
      },
      "order jumped",
    );
    return { ...passed, headers: { ...passed.headers, "Jumped-From": from } };
  }

  /**
   * A stripe's refusal for ever. One of the request itself (its time is up by now, say) is not the whole truth when an
   * earlier try may have been taken.
   */
  #refusal(answer: DecidedAnswer): DomainError {
    const mayBeTaken = this.#failed.length > 0 || answer.earlierUnknown;
    if (answer.status !== ERROR_CATALOGUE.PARAM_ERROR.status || !mayBeTaken) return errorOf(answer);
    return new DomainError("NOT_DURABLE", "an earlier try of this request was not answered");
  }

  /**
   * After a 421, once: refreshes the table, and gives a bucket that is on the move a moment to arrive.
   * @returns whether the create now has another place to go first
   */
  async #routedElsewhere(candidate: Candidate, route: MerchantRoute, version: number | undefined): Promise<boolean> {
    this.#ctx.metrics.misdirected.inc({ stripe: candidate.row.stripe });
    if (this.#replanned) return false;
    this.#replanned = true;
    await refreshPast(this.#ctx, version);
    const patience = new Deadline(Math.min(this.#ctx.limits.moveWaitMs, this.#rq.deadline.remainingMs() / 2));
    for (;;) {
      const view = this.#view();
      const now = view.stripe(candidate.row.stripe);
      const home = view.home(route.partition, this.#input.bucket);
      const homeMoved = candidate.as === "HOME" && home !== undefined && home.stripe !== candidate.row.stripe;
      if (homeMoved || now?.place !== candidate.row.place || now?.temperature !== candidate.row.temperature)
        return true;
      if (now.blocked !== candidate.row.blocked || now.partition !== candidate.row.partition) return true;
      if (candidate.as === "JUMP" || patience.passed) return false;
      await sleep(Math.min(MOVE_POLL_MS, patience.remainingMs()));
      await this.#ctx.tables.refresh();
    }
  }

  #skip(stripe: StripeNo, reason: string): void {
    this.#skipped.push({ stripe, reason });
    this.#lastReason = reason;
  }

  #countJump(): void {
    this.#jumps += 1;
    const last = this.#skipped.at(-1);
    this.#ctx.metrics.jumps.inc({ from: last === undefined ? "none" : String(last.stripe), reason: this.#lastReason });
  }

  #nobodyTookIt(): DomainError {
    const retry = { retryAfterS: 1 };
    const reasons = this.#skipped.map(({ reason }) => reason);
    if (this.#failed.length > 0) {
      return this.#rq.deadline.remainingMs() <= 2 * ANSWER_MARGIN_MS || reasons.includes("timeout")
        ? new DomainError("TIMEOUT", "no stripe has confirmed the order in time")
        : new DomainError("NOT_DURABLE", "no stripe has confirmed the order", retry);
    }
    if (reasons.length > 0 && reasons.every((reason) => BUSY.has(reason))) {
      if (reasons.includes("hot_merchant")) return tooManyInFlight();
      return new DomainError("OVERLOADED", "all stripes that may take the order are busy", retry);
    }
    return new DomainError("NO_STRIPE_AVAILABLE", "no stripe can take the order now; nothing was written", retry);
  }
}

const BUSY: ReadonlySet<string> = new Set(["overloaded", "OVERLOADED", "hot_merchant", "RATELIMIT_EXCEEDED"]);

/** Few values, as it is a metric's label: reasons are codes of ours or of the wire call. */
function outcomeLabel(result: AttemptResult): string {
  return result.kind === "refused" || result.kind === "unknown" ? result.reason : result.kind;
}
