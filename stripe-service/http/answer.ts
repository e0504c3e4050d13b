// One edge: a route returns an Answer or throws; here both become HTTP, metrics and a log line.
import type { Request, RequestHandler } from "express";
import { DomainError, ERROR_CATALOGUE } from "../../core/errors.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import type { Outcome } from "../orders/tx.ts";
import type { Read } from "../storage/reader.ts";
import type { HttpContext } from "./context.ts";
import type { Incoming } from "./request.ts";

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
export function subjectOf(req: Incoming): string {
  return `${req.path} ${Buffer.isBuffer(req.body) ? req.body.toString("utf8") : ""}`;
}

/** One kind of operation. */
export interface Endpoint<R extends Incoming = Incoming> {
  /** For metrics, logs and fault points. */
  readonly operation: string;
  readonly work: (req: R) => Promise<Answer>;
}

/**
 * Runs an operation, counted and logged.
 * @returns its answer; undefined: a fault point says that it is not to be sent
 * @throws DomainError, or an error that is ours
 */
export async function perform<R extends Incoming>(
  context: HttpContext,
  { operation, work }: Endpoint<R>,
  req: R,
  requestId: string,
): Promise<Answer | undefined> {
  const { metrics, logger, faults } = context;
  const startedMs = monotonicMs();
  const finish = (code: string, status: number): void => {
    const tookMs = monotonicMs() - startedMs;
    metrics.answered(operation, code, tookMs / 1000);
    const level = status >= 500 ? "warn" : "debug";
    if (!logger.isLevelEnabled(level)) return;
    const { transaction_id: transactionId } = req.params;
    const ms = Math.round(tookMs);
    logger[level]({ operation, code, status, ms, request_id: requestId, transaction_id: transactionId }, "answered");
  };
  try {
    context.monitor.requireFittingSchema();
    const answer = await work(req);
    if (faults.enabled && (await faults.at(`answer.${operation}`, subjectOf(req)))) return undefined;
    finish(answer.code, answer.status);
    return answer;
  } catch (error) {
    const code = error instanceof DomainError ? error.code : "SYSTEM_ERROR";
    finish(code, ERROR_CATALOGUE[code].status);
    throw error;
  }
}

/** A request handler for one kind of operation. */
export function route(
  context: HttpContext,
  operation: string,
  work: (req: Request) => Promise<Answer>,
): RequestHandler {
  return async (req, res, next) => {
    try {
      const answer = await perform(context, { operation, work }, req, requestIdFrom(res));
      if (answer === undefined) return void req.socket.destroy();
      res
        .status(answer.status)
        .set(answer.headers ?? {})
        .type("application/json")
        .send(JSON.stringify(answer.body));
    } catch (error) {
      next(error);
    }
  };
}
