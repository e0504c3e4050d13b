import type { RequestHandler } from "express";
import { DomainError } from "../../core/errors.ts";

/** What helmet would set and a JSON service needs: names and values in turn. Answers about money are never cached. */
export const SAFE_HEADERS: readonly string[] = [
  "Cache-Control",
  "no-store",
  "X-Content-Type-Options",
  "nosniff",
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
];

/** Sets them; refuses HTTP/1.1 without Host. */
export const safeHeaders: RequestHandler = (req, res, next) => {
  for (let i = 0; i < SAFE_HEADERS.length; i += 2) res.setHeader(SAFE_HEADERS[i] ?? "", SAFE_HEADERS[i + 1] ?? "");
  if (req.headers.host === undefined && req.httpVersion === "1.1") {
    throw new DomainError("INVALID_REQUEST", "the Host header is missing");
  }
  next();
};
