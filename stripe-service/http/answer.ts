// One edge: a route returns an Answer or throws; here both become HTTP, metrics and a log line.
import type { Request, RequestHandler } from "express";
import { DomainError, ERROR_CATALOGUE } from "../../core/errors.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import type { Outcome } from "../orders/tx.ts";
import type { Read } from "../storage/reader.ts";
import type { HttpContext } from "./context.ts";

export interface Answer {
  readonly status: 200 | 201;
  /** For metrics and logs. */
  readonly code: "OK" | "CREATED" | "REPLAYED" | "POINTER";
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function ok(body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: 200, code: "OK", body, headers };
}

export function created(body: unknown): Answer {
  return { status: 201, code: "CREATED", body };
}

export function replayed(body: unknown): Answer {
  return { status: 200, code: "REPLAYED", body, headers: { "Idempotent-Replayed": "true" } };
}

/** Where an answer was read, and how old it may be. */
export function readHeaders(read: Pick<Read<never>, "source" | "lagMs">): Record<string, string> {
  return {
    "Read-Source": read.source,
    ...(read.lagMs === undefined ? {} : { "Read-Lag-Ms": String(read.lagMs) }),
  };
}

/** The value of an outcome. @throws its refusal */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw outcome.error;
}

/** What fault points match against: the path and the body. */
export function subjectOf(req: Request): string {
  const body: unknown = req.body;
  return `${req.path} ${Buffer.isBuffer(body) ? body.toString("utf8") : ""}`;
}

/** A request handler for one kind of operation. */
export function route(
  context: HttpContext,
  operation: string,
  work: (req: Request) => Promise<Answer>,
): RequestHandler {
  const { metrics, logger } = context;
  return async (req, res, next) => {
    const startedMs = monotonicMs();
    const finish = (code: string, status: number): void => {
      const tookMs = monotonicMs() - startedMs;
      metrics.operations.inc({ operation, code });
      metrics.seconds.observe({ operation }, tookMs / 1000);
      const level = status >= 500 ? "warn" : "debug";
      if (!logger.isLevelEnabled(level)) return;
      const transactionId = req.params.transaction_id;
      logger[level](
        {
          operation,
          code,
          status,
          ms: Math.round(tookMs),
          request_id: requestIdFrom(res),
          transaction_id: transactionId,
        },
        "answered",
      );
    };
    try {
      context.monitor.requireFittingSchema();
      const answer = await work(req);
      if (context.faults.enabled && (await context.faults.at(`answer.${operation}`, subjectOf(req)))) {
        req.socket.destroy();
        return;
      }
      finish(answer.code, answer.status);
      res
        .status(answer.status)
        .set(answer.headers ?? {})
        .type("application/json")
        .send(JSON.stringify(answer.body));
    } catch (error) {
      const code = error instanceof DomainError ? error.code : "SYSTEM_ERROR";
      finish(code, ERROR_CATALOGUE[code].status);
      next(error);
    }
  };
}
