import express, { type Request, type RequestHandler } from "express";
import type { z } from "zod";
import { DomainError } from "../../core/errors.ts";
import { JsonError, parseStrictJson } from "../../core/json.ts";

const BODY_BYTES_MAX = 64 * 1024;

/** Takes the body as bytes; {@link readJson} reads it. */
export const rawBody: RequestHandler = express.raw({ type: () => true, limit: BODY_BYTES_MAX });

/**
 * Reads and validates a JSON body.
 * @throws DomainError UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, PARAM_ERROR with one entry per fault
 */
export function readJson<S extends z.ZodType>(req: Request, schema: S): z.infer<S> {
  if (req.is("application/json") === false) {
    throw new DomainError("UNSUPPORTED_MEDIA_TYPE", "the body must be application/json");
  }
  let value: unknown;
  try {
    value = parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(req.body as Buffer));
  } catch (error) {
    if (!(error instanceof JsonError)) throw new DomainError("INVALID_REQUEST", "the body is not UTF-8");
    const { pointer, issue } = error;
    throw new DomainError("INVALID_REQUEST", error.message, { errors: [{ pointer, issue }] });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map((i) => ({ pointer: `/${i.path.map(String).join("/")}`, issue: i.message }));
  throw new DomainError("PARAM_ERROR", errors.map((e) => `${e.pointer}: ${e.issue}`).join("; "), { errors });
}
