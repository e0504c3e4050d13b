// The three requests that merchants send most (create, pay, query) are served ahead of Express, when they come as nearly
// all of them do: a plain path, JSON, nothing unusual among the headers. Anything else, however slightly, goes to Express,
// which knows every rule. What is answered here is the same to the byte of a header's value.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { DomainError, ERROR_CATALOGUE } from "../../core/errors.ts";
import { BadNumberError, parseTransactionId } from "../../core/order-number.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../../core/problem.ts";
import { createOrderSchema, payOrderSchema } from "../../core/schemas/orders.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { Deadline, monotonicMs } from "../../runtime/clock.ts";
import { BodyCutOff, contentTypeOf, parseBody, parseText, readBody, textOf } from "../../runtime/edge/body.ts";
import { SAFE_HEADERS } from "../../runtime/edge/safe-headers.ts";
import { requestIdOf, traceparentOf } from "../../runtime/http-server.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { callStripe } from "../orders/call-stripe.ts";
import { withChainEnd } from "../orders/chain.ts";
import { createOrder } from "../orders/create-order.ts";
import { type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import type { Intake } from "./handler.ts";
import { usualCreate } from "./usual-create.ts";
import { observeAnswer } from "./observe.ts";

interface Hot {
  readonly route: string;
  /** The number in the path; empty when it has none. */
  readonly number: string;
  readonly serve: (ctx: ProxyContext, req: IncomingMessage, rq: () => RequestContext) => Promise<MerchantAnswer>;
}

const CREATE = "/v1/orders";
const ORDER = /^\/v1\/orders\/([0-9]{28})(\/pay)?$/;

/** The hot request that this is, or undefined: it is for Express. */
function hotOf(req: IncomingMessage): Hot | undefined {
  const { method, url = "", headers } = req;
  const { host, accept } = headers;
  if (host === undefined || (accept !== undefined && accept !== "*/*" && accept !== "application/json"))
    return undefined;
  if (method === "GET") {
    const [, number, pay] = ORDER.exec(url) ?? [];
    return number === undefined || pay !== undefined
      ? undefined
      : { route: "GET /v1/orders/:transaction_id", number, serve: (ctx, _req, rq) => query(ctx, rq(), number) };
  }
  if (method !== "POST" || contentTypeOf(req) !== "application/json") return undefined;
  if (headers["content-encoding"] !== undefined || headers.expect !== undefined) return undefined;
  if (url === CREATE) return { route: "POST /v1/orders", number: "", serve: create };
  const [, number, pay] = ORDER.exec(url) ?? [];
  if (number === undefined || pay === undefined) return undefined;
  return {
    route: "POST /v1/orders/:transaction_id/pay",
    number,
    serve: (ctx, req, rq) => payOrder(ctx, req, rq, number),
  };
}

async function create(ctx: ProxyContext, req: IncomingMessage, rq: () => RequestContext): Promise<MerchantAnswer> {
  const bytes = await readBody(req, ctx.limits.bodyMaxBytes);
  const text = textOf(bytes);
  return createOrder(ctx, rq(), usualCreate(text) ?? parseText(createOrderSchema, text));
}

async function payOrder(
  ctx: ProxyContext,
  req: IncomingMessage,
  rq: () => RequestContext,
  number: string,
): Promise<MerchantAnswer> {
  const { id, stripe } = numberOf(number);
  const bytes = await readBody(req, ctx.limits.bodyMaxBytes);
  const body = JSON.stringify(parseBody(payOrderSchema, bytes));
  const request = { method: "POST", path: `${INTERNAL_BASE}/orders/${id}/pay`, body } as const;
  return passedOn(await callStripe(ctx, rq(), stripe, request, "write"));
}

async function query(ctx: ProxyContext, rq: RequestContext, number: string): Promise<MerchantAnswer> {
  const { id, stripe } = numberOf(number);
  const request = { method: "GET", path: `${INTERNAL_BASE}/orders/${id}` } as const;
  return withChainEnd(ctx, rq, await callStripe(ctx, rq, stripe, request, "read"));
}

function numberOf(number: string): ReturnType<typeof parseTransactionId> {
  try {
    return parseTransactionId(number);
  } catch (error) {
    if (!(error instanceof BadNumberError)) throw error;
    const issue = `not a valid number: wrong ${error.fault}`;
    throw new DomainError("PARAM_ERROR", `transaction_id: ${issue}`, {
      errors: [{ pointer: "transaction_id", issue }],
    });
  }
}

/** One hot request from its head to its answer. */
class Exchange {
  readonly #ctx: ProxyContext;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #hot: Hot;
  readonly #requestId: string;
  readonly #traceparent: string | undefined;
  readonly #startMs = monotonicMs();

  constructor(ctx: ProxyContext, req: IncomingMessage, res: ServerResponse, hot: Hot) {
    this.#ctx = ctx;
    this.#req = req;
    this.#res = res;
    this.#hot = hot;
    this.#requestId = requestIdOf(req.headers["request-id"]);
    this.#traceparent = traceparentOf(req.headers.traceparent);
  }

  async run(intake: Intake): Promise<void> {
    try {
      intake.enter();
    } catch (error) {
      return this.#refuse(error);
    }
    try {
      const answer = await this.#hot.serve(this.#ctx, this.#req, () => this.#requestContext());
      this.#send(answer.status, undefined, answer.headers, "application/json; charset=utf-8", answer.body);
    } catch (error) {
      this.#refuse(error);
    } finally {
      intake.leave();
    }
  }

  /** The deadline begins here: the time that a slow body took is the caller's. */
  #requestContext(): RequestContext {
    const wireHeaders: Record<string, string> = { [WIRE_HEADERS.requestId]: this.#requestId };
    if (this.#traceparent !== undefined) wireHeaders[WIRE_HEADERS.traceparent] = this.#traceparent;
    const deadline = new Deadline(this.#ctx.limits.requestDeadlineMs);
    return { requestId: this.#requestId, deadline, wireHeaders };
  }

  #refuse(error: unknown): void {
    if (error instanceof BodyCutOff) {
      this.#res.destroy();
      return this.#observe(0, undefined);
    }
    const known = error instanceof DomainError;
    if (!known) {
      const path = this.#req.url;
      this.#ctx.logger.error({ err: error, request_id: this.#requestId, path }, "unexpected error");
    }
    const shown = known ? error : new DomainError("SYSTEM_ERROR", "something went wrong; the outcome is unknown");
    const headers: Record<string, string> = {};
    // What is left of a body that was refused is not read: the connection cannot be used again.
    if (!this.#req.complete && this.#req.method !== "GET") headers.Connection = "close";
    const { retryAfterS } = shown.extras;
    if (retryAfterS !== undefined) headers["Retry-After"] = String(retryAfterS);
    const body = JSON.stringify(problemOf(shown, this.#req.url ?? "/", this.#requestId));
    this.#send(ERROR_CATALOGUE[shown.code].status, shown.code, headers, `${PROBLEM_MEDIA_TYPE}; charset=utf-8`, body);
  }

  #send(
    status: number,
    code: string | undefined,
    headers: Readonly<Record<string, string>>,
    type: string,
    body: Buffer | string,
  ): void {
    const gone = this.#res.destroyed || this.#res.socket?.destroyed !== false;
    const flat = ["Request-Id", this.#requestId, ...SAFE_HEADERS];
    if (this.#traceparent !== undefined) flat.push("traceparent", this.#traceparent);
    for (const name in headers) flat.push(name, headers[name] ?? "");
    flat.push("Content-Type", type, "Content-Length", String(Buffer.byteLength(body)));
    this.#res.writeHead(status, flat);
    // The bytes as a string: Node sends it together with the head, where a Buffer would be a second piece.
    if (typeof body === "string") this.#res.end(body);
    else this.#res.end(body.toString("latin1"), "latin1");
    this.#observe(gone ? 0 : status, code);
  }

  #observe(status: number, code: string | undefined): void {
    observeAnswer(this.#ctx, {
      startMs: this.#startMs,
      route: this.#hot.route,
      status,
      code,
      requestId: this.#requestId,
      path: this.#req.url ?? "/",
      number: this.#hot.number,
    });
  }
}

/** @param rest takes every request that is not hot */
export function hotEdge(ctx: ProxyContext, intake: Intake, rest: RequestListener): RequestListener {
  return (req, res) => {
    const hot = hotOf(req);
    if (hot === undefined) return rest(req, res);
    void new Exchange(ctx, req, res, hot).run(intake);
  };
}
