// What the OpenAPI documents have in common: the problem document, answers and headers of an operation.
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { ERROR_CATALOGUE, type ErrorCode } from "./errors.ts";
import { PROBLEM_MEDIA_TYPE } from "./problem.ts";

/** The members that every problem document has. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.enum(Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]]),
  request_id: z.string(),
  retryable: z.boolean().meta({ description: "The very same request may be sent again." }),
  errors: z
    .array(z.object({ pointer: z.string(), issue: z.string() }))
    .optional()
    .meta({ description: "Every fault found: a JSON pointer into the body, or a parameter's name." }),
  conflict: z.record(z.string(), z.unknown()).optional(),
});
export const PROBLEM_META = { id: "Problem", description: "Every error is one of these (RFC 9457)." };

type Responses = RouteConfig["responses"];
/** Answers of an operation that did what it was asked, by status. */
export type Success = Record<
  number,
  { readonly description: string; readonly schema: z.ZodType; readonly headers?: string[] }
>;

const HEADER_TEXTS: Readonly<Record<string, string>> = {
  "Request-Id": "The caller's when it was sane, else a new one.",
  "Idempotent-Replayed": "`true` when the request had been carried out before.",
  "Jumped-From": "Stripes that would have been asked before, when the order was placed elsewhere.",
  "Read-Source":
    "`primary`; or `replica`: what was read may be old (a source that may have been replaced is told like one).",
  "Retry-After": "Seconds to wait before the next try, where that is known.",
  "Read-Lag-Ms": "How old the answer may be, in milliseconds.",
  ETag: "The row's own version, for `If-Match`.",
  Location: "Where the task is.",
};

function headersOf(names: readonly string[]): Record<string, { description: string; schema: { type: "string" } }> {
  const all = ["Request-Id", ...names];
  return Object.fromEntries(all.map((n) => [n, { description: HEADER_TEXTS[n] ?? "", schema: { type: "string" } }]));
}

const MAY_NAME_A_WAIT: ReadonlySet<number> = new Set([429, 503]);

/** The answers of an operation: those of `success`, and a `problem` for each status that `errors` come with. */
export function responsesOf(problem: z.ZodType, success: Success, errors: readonly ErrorCode[]): Responses {
  const byStatus = Map.groupBy(new Set(errors), (code) => ERROR_CATALOGUE[code].status);
  const problems = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => [
      status,
      {
        description: codes.join(", "),
        headers: headersOf(MAY_NAME_A_WAIT.has(status) ? ["Retry-After"] : []),
        content: { [PROBLEM_MEDIA_TYPE]: { schema: problem } },
      },
    ]);
  const answers = Object.entries(success).map(([status, { description, schema, headers = [] }]) => [
    status,
    { description, headers: headersOf(headers), content: { "application/json": { schema } } },
  ]);
  return Object.fromEntries([...answers, ...problems]) as Responses;
}

/** A JSON body. */
export function bodyOf(schema: z.ZodType, required = true): NonNullable<RouteConfig["request"]> {
  return { body: { required, content: { "application/json": { schema } } } };
}
