import type { ErrorRequestHandler } from "express";
import { DomainError } from "../../core/errors.ts";
import { BodyCutOff } from "./body.ts";

/** Faults that Express or Node found in a request, before the last handler that takes everything else for ours. */
export const unreadableRequests: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (error instanceof BodyCutOff) return void res.destroy();
  res.locals.code = error instanceof DomainError ? error.code : "SYSTEM_ERROR";
  // What is left of a body that was refused is not read: the connection cannot be used again.
  if (!req.complete && req.method !== "GET") res.setHeader("Connection", "close");
  const status = (error as { status?: unknown } | null)?.status;
  if (!(error instanceof DomainError) && (status === 400 || error instanceof URIError)) {
    res.locals.code = "INVALID_REQUEST";
    return next(new DomainError("INVALID_REQUEST", "the path is not well formed"));
  }
  next(error);
};
