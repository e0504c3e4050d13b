// What stripe services answer, made fit for merchants.
import { z } from "zod";
import { DomainError, ERROR_CATALOGUE, type ErrorCode } from "../../core/errors.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";

/** Headers of a service's answer that a merchant sees too. */
const PASSED_HEADERS = ["read-source", "read-lag-ms", "idempotent-replayed", "last-modified"] as const;
const RETRY_AFTER_MAX_S = 3_600;

export interface MerchantAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

const problemSchema = z.object({
  code: z.string(),
  detail: z.string().default(""),
  errors: z.array(z.object({ pointer: z.string(), issue: z.string() })).optional(),
  order: z.unknown().optional(),
  conflict: z.record(z.string(), z.unknown()).optional(),
  routing_version: z.number().optional(),
});

export function headerOf(answer: WireAnswer, name: string): string | undefined {
  const value = answer.headers[name];
  return typeof value === "string" ? value : undefined;
}

export function isSuccess(answer: WireAnswer): boolean {
  return answer.status >= 200 && answer.status <= 299;
}

/** The answer's body as JSON, or undefined. Only for answers that must be looked into. */
export function jsonOf(answer: WireAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

/** A 2xx as the merchant gets it: status and body as they are. */
export function passedOn(answer: WireAnswer): MerchantAnswer {
  const headers: Record<string, string> = {};
  for (const name of PASSED_HEADERS) {
    const value = headerOf(answer, name);
    if (value !== undefined) headers[name] = value;
  }
  return { status: answer.status, headers, body: answer.body };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CATALOGUE, code);
}

/** The error that a service answered; SYSTEM_ERROR when it is not one of ours. */
export function errorOf(answer: WireAnswer): DomainError {
  const parsed = problemSchema.safeParse(jsonOf(answer));
  if (!parsed.success || !isErrorCode(parsed.data.code) || parsed.data.code === "NOT_FOUND") {
    return new DomainError("SYSTEM_ERROR", "the stripe's answer was not understood; the outcome is unknown");
  }
  const { code, detail, errors, order, conflict, routing_version: routingVersion } = parsed.data;
  const retryAfterS = Number(headerOf(answer, "retry-after"));
  return new DomainError(code, merchantPointer(detail), {
    ...(errors === undefined ? {} : { errors: errors.map((e) => ({ ...e, pointer: merchantPointer(e.pointer) })) }),
    ...(order === undefined ? {} : { order }),
    ...(conflict === undefined ? {} : { conflict }),
    ...(routingVersion === undefined ? {} : { routingVersion }),
    ...(retryAfterS >= 0 && retryAfterS <= RETRY_AFTER_MAX_S ? { retryAfterS } : {}),
  });
}

/** Inside the cluster a create's content is one level deeper than in the merchant's body. */
function merchantPointer(pointer: string): string {
  return pointer.startsWith("/order/") ? pointer.slice("/order".length) : pointer;
}
