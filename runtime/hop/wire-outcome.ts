// A call to one service instance, and what became of it.

export type IncomingHttpHeaders = Record<string, string | string[] | undefined>;

export interface WireRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

export interface WireAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type UnwrittenReason =
  | "refused"
  | "connect_timeout"
  | "overloaded"
  | "hot_merchant"
  | "no_instance"
  | "no_sequence";
export type UnknownReason = "timeout" | "connection_lost" | "bad_answer";

export type WireOutcome =
  | WireAnswer
  | { readonly kind: "unwritten"; readonly reason: UnwrittenReason }
  | { readonly kind: "unknown"; readonly reason: UnknownReason };
