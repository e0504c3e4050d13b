// The one catalogue of error codes. Append only: a code, once published, keeps its meaning and its status.

interface CatalogueEntry {
  readonly status: number;
  readonly title: string;
  /** Whether the very same request may be sent again with a hope of another answer. */
  readonly retryable: boolean;
}

export const ERROR_CATALOGUE = {
  PARAM_ERROR: { status: 400, title: "A member or parameter is wrong", retryable: false },
  INVALID_REQUEST: { status: 400, title: "The request cannot be read", retryable: false },
  AMOUNT_MISMATCH: { status: 400, title: "The amount differs from the order's", retryable: false },
  CURRENCY_MISMATCH: { status: 400, title: "The currency differs from the order's", retryable: false },
  SIGN_ERROR: { status: 401, title: "The signature is missing or wrong", retryable: false },
  NO_AUTH: { status: 403, title: "Not allowed", retryable: false },
  NOT_FOUND: { status: 404, title: "No such resource", retryable: false },
  ORDER_NOT_EXIST: { status: 404, title: "No such order", retryable: false },
  REFUND_NOT_EXIST: { status: 404, title: "No such refund", retryable: false },
  STRIPE_NOT_EXIST: { status: 404, title: "No such stripe", retryable: false },
  METHOD_NOT_ALLOWED: { status: 405, title: "Method not allowed here", retryable: false },
  NOT_ACCEPTABLE: { status: 406, title: "Only JSON is offered", retryable: false },
  REQUEST_TIMEOUT: { status: 408, title: "The request did not arrive in time", retryable: true },
  PAYLOAD_TOO_LARGE: { status: 413, title: "The body is too large", retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: "The body must be JSON", retryable: false },
  OUT_TRADE_NO_USED: { status: 409, title: "The merchant order number names another order", retryable: false },
  OUT_PAY_NO_USED: { status: 409, title: "The payment number was used with other content", retryable: false },
  OUT_REFUND_NO_USED: { status: 409, title: "The refund number was used with other content", retryable: false },
  ORDER_PAID: { status: 409, title: "The order is paid", retryable: false },
  ORDER_CLOSED: { status: 409, title: "The order is closed", retryable: false },
  ORDER_EXPIRED: { status: 409, title: "The order can no longer be paid", retryable: false },
  ORDER_NOT_PAID: { status: 409, title: "The order is not paid", retryable: false },
  REFUND_AMOUNT_EXCEEDED: { status: 409, title: "More than what can be refunded", retryable: false },
  REFUND_COUNT_EXCEEDED: { status: 409, title: "Too many refunds of one order", retryable: false },
  REFUND_STATE_CONFLICT: { status: 409, title: "The refund has another final result", retryable: false },
  STATE_NOT_ALLOWED: { status: 409, title: "Not allowed in the present state", retryable: false },
  PRECONDITION_FAILED: { status: 412, title: "Somebody else changed it first", retryable: false },
  MISDIRECTED: { status: 421, title: "Not the place of this stripe", retryable: true },
  PRECONDITION_REQUIRED: { status: 428, title: "If-Match is required", retryable: false },
  RATELIMIT_EXCEEDED: { status: 429, title: "Too many requests", retryable: true },
  SYSTEM_ERROR: {
    status: 500,
    title: "The outcome is unknown; a retry with the same numbers is safe",
    retryable: true,
  },
  STRIPE_UNAVAILABLE: {
    status: 503,
    title: "The order's stripe cannot be reached; nothing was written",
    retryable: true,
  },
  NO_STRIPE_AVAILABLE: { status: 503, title: "No stripe can take the order now", retryable: true },
  STRIPE_READ_ONLY: { status: 503, title: "The stripe takes no writes now; nothing was written", retryable: true },
  NOT_DURABLE: { status: 503, title: "The outcome is unknown; a retry with the same numbers is safe", retryable: true },
  OVERLOADED: { status: 503, title: "Too busy; nothing was written", retryable: true },
  TIMEOUT: { status: 504, title: "The outcome is unknown; a retry with the same numbers is safe", retryable: true },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** Codes after which nothing was written, for certain: the proxy may jump and forget the attempt. */
export const NOTHING_WRITTEN: ReadonlySet<string> = new Set<ErrorCode>([
  "MISDIRECTED",
  "STRIPE_UNAVAILABLE",
  "STRIPE_READ_ONLY",
  "OVERLOADED",
  "RATELIMIT_EXCEEDED",
]);

export interface FieldIssue {
  /** RFC 6901 pointer into the body, or the name of a path, query or header parameter. */
  readonly pointer: string;
  readonly issue: string;
}

/** What a caller is given beside the code, so that it needs no second call. */
export interface ErrorExtras {
  readonly errors?: readonly FieldIssue[];
  /** The order as it now is. */
  readonly order?: unknown;
  readonly conflict?: Readonly<Record<string, unknown>>;
  /** Seconds for `Retry-After`. */
  readonly retryAfterS?: number;
  /** Only in 421 answers inside the cluster: the routing version that the service knows. */
  readonly routingVersion?: number;
}

/** An expected failure: a stable code and data. How it looks on HTTP is decided at the edge (runtime/problem.ts). */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly extras: ErrorExtras;

  constructor(code: ErrorCode, detail: string, extras: ErrorExtras = {}) {
    super(detail);
    this.name = "DomainError";
    this.code = code;
    this.extras = extras;
  }
}

/** A PARAM_ERROR about one place in the request. */
export function paramError(pointer: string, issue: string): DomainError {
  return new DomainError("PARAM_ERROR", `${pointer}: ${issue}`, { errors: [{ pointer, issue }] });
}
