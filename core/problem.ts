import { ERROR_CATALOGUE, type DomainError, type ErrorCode, type ErrorExtras, type FieldIssue } from "./errors.ts";

/** Body of every error answer: `application/problem+json` (RFC 9457) with our members. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: ErrorCode;
  readonly request_id: string;
  readonly retryable: boolean;
  readonly errors?: readonly FieldIssue[];
  readonly order?: unknown;
  readonly conflict?: Readonly<Record<string, unknown>>;
  readonly routing_version?: number;
}

export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/**
 * The problem document for a code.
 * @param instance the request's path
 */
export function problem(
  code: ErrorCode,
  detail: string,
  instance: string,
  requestId: string,
  extras: ErrorExtras = {},
): Problem {
  const { status, title, retryable } = ERROR_CATALOGUE[code];
  return {
    type: `urn:striped-orders:error:${code}`,
    title,
    status,
    detail,
    instance,
    code,
    request_id: requestId,
    retryable,
    ...(extras.errors === undefined ? {} : { errors: extras.errors }),
    ...(extras.order === undefined ? {} : { order: extras.order }),
    ...(extras.conflict === undefined ? {} : { conflict: extras.conflict }),
    ...(extras.routingVersion === undefined ? {} : { routing_version: extras.routingVersion }),
  };
}

/** The problem document for a domain error. */
export function problemOf(error: DomainError, instance: string, requestId: string): Problem {
  return problem(error.code, error.message, instance, requestId, error.extras);
}
