// Calls to one stripe: over its service instances in turn, around those that do not answer, with at most so many in
// flight. Several tries at instances of one stripe are one attempt: the same request with the same numbers.
import { Pool } from "undici";
import type { StripeNo } from "../../core/ids.ts";
import { ERROR_CATALOGUE } from "../../core/errors.ts";
import { hopTarget } from "../../core/hop.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import type { Limits } from "../config.ts";
import { Breaker } from "./breaker.ts";
import { Hop } from "../../runtime/hop/hop.ts";
import type {
  UnknownReason,
  UnwrittenReason,
  WireAnswer,
  WireOutcome,
  WireRequest,
} from "../../runtime/hop/wire-outcome.ts";
import { callWire } from "./wire-call.ts";
import { AdaptiveLimit } from "../overload/adaptive-limit.ts";
import { FairShare } from "../overload/fair-share.ts";

/** Tries at instances of one stripe within one attempt. */
const TRIES_MAX = 3;
/** Calls at the same time that are not counted among those in flight: one lease of sequence numbers. */
const UNCOUNTED_MAX = 1;
/** Who has answered somebody since then is alive. */
const ANSWERS_NOW_MS = 300;
/** Less time than this is not worth a try. */
const TRY_MIN_MS = 10;

/**
 * What an attempt at a stripe came to. `earlierUnknown`: an answer came, but an earlier try of the same request got
 * none, so a refusal does not mean that nothing was written.
 */
export type StripeOutcome =
  | (WireAnswer & { readonly earlierUnknown: boolean })
  | { readonly kind: "unwritten"; readonly reason: UnwrittenReason }
  | { readonly kind: "unknown"; readonly reason: UnknownReason };

export interface CallOptions {
  /** For all tries together. */
  readonly budgetMs: number;
  /** How long an instance may answer nobody before another one is tried with this call. */
  readonly tryTimeoutMs: number;
  /** Not counted among the calls in flight: the caller has at most one at a time, and others wait for it. */
  readonly uncounted?: boolean;
  /** Whose call it is, when that is known: with few places left a merchant with many calls in flight is refused first. */
  readonly merchant?: string;
  /** A read, which can be asked again: the last quarter of the places is kept for others. */
  readonly yields?: boolean;
  /** Trace context of the request that this call serves. */
  readonly headers: Readonly<Record<string, string>>;
  readonly routingVersion: number;
}

export type StripeRequest = Pick<WireRequest, "method" | "path" | "body">;

interface Instance {
  readonly url: string;
  /** For what merchants ask most. */
  readonly hop: Hop;
  /** For the rest. */
  readonly pool: Pool;
  readonly breaker: Breaker;
  inFlight: number;
  /** When it last answered anything: monotonic milliseconds. */
  answeredAtMs: number;
}

export class StripeClient {
  readonly stripe: StripeNo;
  /** Passive verdict on the whole stripe; only creates look at it. */
  readonly mask: Breaker;
  readonly #limits: Limits;
  #place: number;
  #instances: Instance[] = [];
  #turn = 0;
  readonly #limit: AdaptiveLimit;
  readonly #fair = new FairShare();

  constructor(row: StripeRow, limits: Limits) {
    this.stripe = row.stripe;
    this.#limits = limits;
    this.#place = row.place;
    this.mask = new Breaker(limits.maskAfterFailures, limits.maskMs, limits.attemptTimeoutMs);
    this.#limit = new AdaptiveLimit(limits.stripeInFlightMin, limits.stripeInFlightMax);
    this.update(row);
  }

  get inFlight(): number {
    return this.#fair.inFlight;
  }

  /** Calls that may be in flight now; one more is refused at once. */
  get places(): number {
    return this.#limit.limit;
  }

  /** Whether the stripe has been slow lately, so that fewer calls than usual may be in flight. */
  get slowed(): boolean {
    return this.places < this.#limits.stripeInFlightMax;
  }

  /** Whether an instance has answered anything within the last moments. */
  get answersNow(): boolean {
    const sinceMs = monotonicMs() - ANSWERS_NOW_MS;
    return this.#instances.some(({ answeredAtMs }) => answeredAtMs > sinceMs);
  }

  /** Follows the routing table: keeps the instances that stay, closes those that left once their calls are done. */
  update(row: StripeRow): void {
    this.#place = row.place;
    const wanted = new Set(row.services);
    const gone = this.#instances.filter((i) => !wanted.has(i.url));
    const kept = new Map(this.#instances.map((i) => [i.url, i]));
    this.#instances = [...wanted].map((url) => kept.get(url) ?? this.#open(url));
    if (row.temperature === "hot") for (const { hop } of this.#instances) hop.warm();
    for (const { hop, pool } of gone) {
      hop.close();
      pool.close().catch(() => undefined);
    }
  }

  /** Every call must be idempotent by the numbers in it: after a lost connection it is sent to another instance. */
  async call(request: StripeRequest, options: CallOptions): Promise<StripeOutcome> {
    if (options.uncounted === true) return this.#tryInstances(request, options);
    const admission = this.#fair.enter(options.merchant, this.places, options.yields);
    if (admission !== "admitted") {
      return { kind: "unwritten", reason: admission === "full" ? "overloaded" : admission };
    }
    const startMs = monotonicMs();
    let lost = true;
    try {
      const outcome = await this.#tryInstances(request, options);
      lost = isLost(outcome);
      return outcome;
    } finally {
      const nowMs = monotonicMs();
      this.#limit.ended(nowMs - startMs, lost, this.inFlight, nowMs);
      this.#fair.leave(options.merchant);
    }
  }

  async close(): Promise<void> {
    for (const { hop } of this.#instances) hop.destroy();
    await Promise.all(this.#instances.map((i) => i.pool.destroy()));
  }

  #open(url: string): Instance {
    const { connectTimeoutMs, instanceAvoidMs, attemptTimeoutMs, stripeInFlightMax } = this.#limits;
    const pool = new Pool(url, {
      connections: stripeInFlightMax + UNCOUNTED_MAX,
      pipelining: 1,
      allowH2: false,
      connectTimeout: connectTimeoutMs,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return {
      url,
      hop: new Hop(url, connectTimeoutMs),
      pool,
      breaker: new Breaker(1, instanceAvoidMs, attemptTimeoutMs),
      inFlight: 0,
      answeredAtMs: Number.NEGATIVE_INFINITY,
    };
  }

  async #tryInstances(request: StripeRequest, options: CallOptions): Promise<StripeOutcome> {
    const end = monotonicMs() + options.budgetMs;
    const tried = new Set<Instance>();
    let repeatable: Instance | undefined;
    let failure: StripeOutcome = { kind: "unwritten", reason: "no_instance" };
    let unknown: StripeOutcome | undefined;
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const remaining = end - monotonicMs();
      const instance = this.#pick(tried) ?? repeatable;
      if (instance === undefined || (tries > 1 && remaining < TRY_MIN_MS)) break;
      tried.add(instance);
      const last = tries === TRIES_MAX || tried.size >= this.#instances.length;
      const wire = this.#wireRequest(request, options, remaining);
      const outcome = await (last ? tryLast(instance, wire, remaining) : tryOne(instance, wire, remaining, options));
      const better = outcome.kind === "answer" && mayBeBetterElsewhere(outcome);
      if (outcome.kind === "answer" && (!better || outcome.status === MISDIRECTED)) instance.breaker.succeeded();
      else instance.breaker.failed();
      // A kept-alive connection to an instance that was restarted: a new connection may do.
      repeatable = outcome.kind === "unknown" && outcome.reason === "connection_lost" ? instance : undefined;
      const earlierUnknown = unknown !== undefined;
      if (outcome.kind === "answer" && !(better && tried.size < this.#instances.length)) {
        const { kind, status, headers, body } = outcome; // by name: a spread costs a multiple
        return { kind, status, headers, body, earlierUnknown };
      }
      if (outcome.kind === "unknown") unknown = outcome;
      else if (outcome.kind === "answer" && outcome.status === BROKEN)
        unknown = { kind: "unknown", reason: "bad_answer" };
      failure = outcome.kind === "answer" ? { ...outcome, earlierUnknown } : outcome;
    }
    return unknown ?? failure;
  }

  #wireRequest(request: StripeRequest, options: CallOptions, timeoutMs: number): WireRequest {
    const headers: Record<string, string> = {
      ...options.headers,
      [WIRE_HEADERS.place]: String(this.#place),
      [WIRE_HEADERS.routingVersion]: String(options.routingVersion),
      [WIRE_HEADERS.deadlineMs]: String(Math.max(1, Math.floor(timeoutMs))),
    };
    const { method, path, body } = request;
    return body === undefined ? { method, path, headers } : { method, path, headers, body };
  }

  /**
   * The instance that was not tried with the least in flight, so that a slow one gets less; among equals the next in
   * turn; those that pause come last.
   */
  #pick(tried: ReadonlySet<Instance>): Instance | undefined {
    const count = this.#instances.length;
    const [only] = this.#instances;
    if (count === 1 && only !== undefined && !tried.has(only)) {
      only.breaker.admit(); // whatever it says, there is no other
      return only;
    }
    this.#turn = (this.#turn + 1) % Math.max(1, count);
    const inTurn = this.#instances.map((_, i) => this.#instances[(this.#turn + i) % count]);
    const left = inTurn.filter((instance) => instance !== undefined && !tried.has(instance));
    const byLoad = left.toSorted((a, b) => (a?.inFlight ?? 0) - (b?.inFlight ?? 0));
    return byLoad.find((instance) => instance?.breaker.admit() === true) ?? left[0];
  }
}

/**
 * One try. An instance that has answered nobody for as long as our patience is taken for frozen. One that answers others
 * is alive: what is slow then is the stripe, and a second try of the same call would only add to its load.
 */
function tryOne(
  instance: Instance,
  request: WireRequest,
  timeoutMs: number,
  { tryTimeoutMs: patienceMs }: CallOptions,
): Promise<WireOutcome> {
  if (patienceMs >= timeoutMs) return tryLast(instance, request, timeoutMs);
  const startMs = monotonicMs();
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      const silentMs = monotonicMs() - Math.max(startMs, instance.answeredAtMs);
      if (silentMs >= patienceMs) resolve({ kind: "unknown", reason: "timeout" });
      else timer = setTimeout(wait, patienceMs - silentMs);
    };
    wait();
    void tryLast(instance, request, timeoutMs).then((outcome) => {
      clearTimeout(timer);
      resolve(outcome);
    });
  });
}

/** One try that has all the time that is left: there is nobody else to ask. */
async function tryLast(instance: Instance, request: WireRequest, timeoutMs: number): Promise<WireOutcome> {
  instance.inFlight += 1;
  const outcome = await send(instance, request, timeoutMs);
  instance.inFlight -= 1;
  if (outcome.kind === "answer") instance.answeredAtMs = monotonicMs();
  return outcome;
}

function send({ hop, pool }: Instance, request: WireRequest, timeoutMs: number): Promise<WireOutcome> {
  const path = request.path.slice(INTERNAL_BASE.length);
  if (hopTarget(request.method, path) === undefined) return callWire(pool, request, timeoutMs);
  return hop.call({ ...request, path }, timeoutMs);
}

const MISDIRECTED = ERROR_CATALOGUE.MISDIRECTED.status;
const BROKEN = ERROR_CATALOGUE.SYSTEM_ERROR.status;
/** What an instance says of its own way to the database, or of its own queue: another one may have a better one. */
const OF_THE_INSTANCE = ['"STRIPE_UNAVAILABLE"', '"STRIPE_READ_ONLY"', '"OVERLOADED"'].map((code) => Buffer.from(code));

/**
 * Whether another instance may answer better. Otherwise one that fails quickly would draw all calls to itself, having the
 * least in flight.
 */
function mayBeBetterElsewhere({ status, body }: WireAnswer): boolean {
  if (status === MISDIRECTED || status === BROKEN) return true;
  return status === 503 && OF_THE_INSTANCE.some((code) => body.includes(code));
}

const BUSY = Buffer.from('"OVERLOADED"');

/** What tells that the stripe has too much to do: silence, and its own word. */
function isLost(outcome: StripeOutcome): boolean {
  if (outcome.kind === "answer") return outcome.status === 503 && outcome.body.includes(BUSY);
  return outcome.kind === "unknown" ? outcome.reason === "timeout" : outcome.reason === "connect_timeout";
}
