import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { DomainError, ERROR_CATALOGUE } from "../core/errors.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../core/problem.ts";
import { requestIdOf, traceparentOf } from "./http-server.ts";
import type { Logger } from "./logger.ts";

/** Gives every request an id: the caller's when it is sane; it is echoed in the answer, also `traceparent`. */
export const withRequestId: RequestHandler = (req, res, next) => {
  const id = requestIdOf(req.headers["request-id"]);
  res.locals.requestId = id;
  res.setHeader("Request-Id", id);
  const traceparent = traceparentOf(req.headers.traceparent);
  if (traceparent !== undefined) res.setHeader("traceparent", traceparent);
  next();
};

export function requestIdFrom(res: Response): string {
  return String(res.locals.requestId ?? "");
}

/** The path of a request, without its query (which may hold a merchant's numbers). */
export function instanceOf(req: Request): string {
  return req.originalUrl.split("?", 1)[0] ?? "/";
}

/** Writes the problem document of a domain error. */
export function sendProblem(req: Request, res: Response, error: DomainError): void {
  const { status } = ERROR_CATALOGUE[error.code];
  if (error.extras.retryAfterS !== undefined) res.setHeader("Retry-After", String(error.extras.retryAfterS));
  res.status(status).type(PROBLEM_MEDIA_TYPE);
  res.send(JSON.stringify(problemOf(error, instanceOf(req), requestIdFrom(res))));
}

/**
 * The last handler of an app: domain errors become their problem document; anything else is logged with the request id
 * and answered SYSTEM_ERROR without a word of what happened inside.
 */
export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) return next(error);
    if (error instanceof DomainError) return sendProblem(req, res, error);
    logger.error({ err: error, request_id: requestIdFrom(res), path: instanceOf(req) }, "unexpected error");
    sendProblem(req, res, new DomainError("SYSTEM_ERROR", "something went wrong; the outcome is unknown"));
  };
}

/** Answers 404 NOT_FOUND for paths that no route took. */
export const notFound: RequestHandler = (req, res) => {
  sendProblem(req, res, new DomainError("NOT_FOUND", `there is no ${req.method} ${instanceOf(req)}`));
};
