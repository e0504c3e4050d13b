// What every merchant endpoint has in common: the rules for requests, the deadline, the bound on requests in flight,
// and how an answer leaves.
import type { Request, RequestHandler, Response } from "express";
import { DomainError } from "../../core/errors.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { Deadline } from "../../runtime/clock.ts";
import { requireAcceptable } from "../../runtime/edge/accept.ts";
import { traceparentOf } from "../../runtime/http-server.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import type { MerchantAnswer } from "../upstream/answers.ts";

export type Operation = (rq: RequestContext, req: Request) => Promise<MerchantAnswer>;

/** Counts requests that are being worked on; one more than the bound is refused at once. */
export class Intake {
  readonly #max: number;
  #inFlight = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whoever has entered must leave. @throws DomainError OVERLOADED */
  enter(): void {
    if (this.#inFlight >= this.#max) {
      throw new DomainError("OVERLOADED", "too many requests are in flight", { retryAfterS: 1 });
    }
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}

/** Wraps an operation as an Express handler. */
export function endpoint(ctx: ProxyContext, intake: Intake, route: string, operation: Operation): RequestHandler {
  return async (req, res) => {
    res.locals.route = route;
    res.locals.number = req.params.transaction_id ?? req.params.refund_id;
    requireAcceptable(req);
    intake.enter();
    try {
      send(res, await operation(requestContext(ctx, req, res), req));
    } finally {
      intake.leave();
    }
  };
}

/** The deadline starts anew once the body is here: `operation` reads it first. */
function requestContext(ctx: ProxyContext, req: Request, res: Response): RequestContext {
  const requestId = requestIdFrom(res);
  const wireHeaders: Record<string, string> = { [WIRE_HEADERS.requestId]: requestId };
  const traceparent = traceparentOf(req.headers.traceparent);
  if (traceparent !== undefined) wireHeaders[WIRE_HEADERS.traceparent] = traceparent;
  return { requestId, deadline: new Deadline(ctx.limits.requestDeadlineMs), wireHeaders };
}

function send(res: Response, { status, headers, body }: MerchantAnswer): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  res.writeHead(status, {
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": bytes.length,
  });
  res.end(bytes);
}
