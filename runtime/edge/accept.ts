import type { Request } from "express";
import { DomainError } from "../../core/errors.ts";

const ANYTHING = /^(\*\/\*|application\/json)$/;

/** @throws DomainError NOT_ACCEPTABLE when the caller takes no JSON */
export function requireAcceptable(req: Request): void {
  const { accept } = req.headers;
  if (accept === undefined || ANYTHING.test(accept)) return;
  if (req.accepts("application/json") !== false) return;
  throw new DomainError("NOT_ACCEPTABLE", "answers are application/json and application/problem+json");
}
