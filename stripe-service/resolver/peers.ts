// Calls to other stripes' services. Each call may be repeated, so an unclear answer is no different from none; a stripe
// that does not answer is asked again by one caller at a time.
import { Agent, request } from "undici";
import type { z } from "zod";
import type { StripeRow } from "../../core/routing-table.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { monotonicMs } from "../../runtime/clock.ts";

export interface PeerLimits {
  /** Connections to one instance at most. */
  readonly connectionsMax: number;
  /** For one try at one instance. */
  readonly timeoutMs: number;
  /** How long a stripe that did not answer is left alone. */
  readonly retryMs: number;
}

export type PeerAnswer<T> =
  | { readonly kind: "ok"; readonly value: T }
  /** The table was behind, or the bucket is between two homes. */
  | { readonly kind: "misdirected" }
  /** No answer that says anything; the stripe is left alone for a while. */
  | { readonly kind: "away" }
  /** The stripe is there, and its answer says nothing; this call is for later. */
  | { readonly kind: "unclear" }
  /** An answer that waiting will not change. */
  | { readonly kind: "refused"; readonly reason: string };

interface Health {
  failing: boolean;
  trial: boolean;
  retryAtMs: number;
}

export interface PeerCall<T> {
  readonly path: string;
  readonly body: unknown;
  readonly schema: z.ZodType<T>;
}

export class Peers {
  readonly #limits: PeerLimits;
  readonly #agent: Agent;
  readonly #health = new Map<number, Health>();
  readonly #routingVersion: () => number;

  constructor(limits: PeerLimits, routingVersion: () => number) {
    this.#limits = limits;
    this.#routingVersion = routingVersion;
    this.#agent = new Agent({ connections: limits.connectionsMax, connectTimeout: limits.timeoutMs });
  }

  /** Whether a call to the stripe would be made now. */
  available(stripe: number): boolean {
    const health = this.#health.get(stripe);
    return health === undefined || !health.failing || (!health.trial && monotonicMs() >= health.retryAtMs);
  }

  /** POSTs to one of the stripe's instances, the next when one does not answer. Never rejects. */
  async post<T>(row: StripeRow, call: PeerCall<T>): Promise<PeerAnswer<T>> {
    if (!this.available(row.stripe)) return { kind: "away" };
    const health = this.#healthOf(row.stripe);
    const trial = health.failing;
    if (trial) health.trial = true;
    const answer = await this.#first(row, call);
    if (trial) health.trial = false;
    health.failing = answer.kind === "away";
    if (health.failing) health.retryAtMs = monotonicMs() + this.#limits.retryMs;
    return answer;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #healthOf(stripe: number): Health {
    let health = this.#health.get(stripe);
    if (health === undefined) this.#health.set(stripe, (health = { failing: false, trial: false, retryAtMs: 0 }));
    return health;
  }

  async #first<T>(row: StripeRow, call: PeerCall<T>): Promise<PeerAnswer<T>> {
    for (const url of row.services) {
      const answer = await this.#ask(`${url}${INTERNAL_BASE}${call.path}`, row, call);
      if (answer.kind !== "away") return answer;
    }
    return { kind: "away" };
  }

  async #ask<T>(url: string, { place, partition }: StripeRow, call: PeerCall<T>): Promise<PeerAnswer<T>> {
    const { timeoutMs } = this.#limits;
    try {
      const { statusCode, body } = await request(url, {
        method: "POST",
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          [WIRE_HEADERS.place]: String(place),
          [WIRE_HEADERS.partition]: partition,
          [WIRE_HEADERS.routingVersion]: String(this.#routingVersion()),
          [WIRE_HEADERS.deadlineMs]: String(timeoutMs),
          "content-type": "application/json",
        },
        body: JSON.stringify(call.body),
      });
      const text = await body.text();
      if (statusCode === 421) return { kind: "misdirected" };
      if (statusCode === 500) return { kind: "unclear" };
      if (statusCode > 500 || statusCode === 429) return { kind: "away" };
      const json: unknown = JSON.parse(text);
      if (statusCode === 200) return { kind: "ok", value: call.schema.parse(json) };
      return { kind: "refused", reason: codeOf(json) };
    } catch {
      return { kind: "away" };
    }
  }
}

function codeOf(problem: unknown): string {
  const code = (problem as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unknown";
}
