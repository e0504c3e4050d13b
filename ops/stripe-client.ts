import { Agent, request } from "undici";
import type { z } from "zod";
import type { StripeRow } from "../core/routing-table.ts";
import { anyInstance } from "../runtime/routing/instances.ts";
import {
  INTERNAL_BASE,
  WIRE_HEADERS,
  wireHomeBucketsSchema,
  wireStatsSchema,
  type WireStats,
  type WireStripeState,
  wireStripeStateSchema,
} from "../core/schemas/wire.ts";

const CONNECTIONS_PER_SERVICE = 4;

/** Calls stripe services for the ops API; every call is bounded, and a stripe that does not answer gives null. */
export class StripeClient {
  readonly #agent = new Agent({ connections: CONNECTIONS_PER_SERVICE });
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Facts of a stripe from its own database, asked of its instances in turn; null when none answers. */
  stats(row: StripeRow): Promise<WireStats | null> {
    return this.#first(row, "GET", "/stats", undefined, wireStatsSchema);
  }

  /** What the stripe accepts, by its own row: asked all the time, so no more than that. Null when none answers. */
  state(row: StripeRow): Promise<WireStripeState | null> {
    return this.#first(row, "GET", "/stripe-state", undefined, wireStripeStateSchema);
  }

  /** Sets what the stripe accepts. @returns false when no instance took it (it stays to be reconciled) */
  async setState(row: StripeRow, state: WireStripeState): Promise<boolean> {
    return (await this.#first(row, "PUT", "/stripe-state", state, undefined)) !== null;
  }

  /** Buckets that the stripe's own database calls it home to; null when it does not answer. */
  async homeBuckets(row: StripeRow): Promise<readonly number[] | null> {
    return (await this.#first(row, "GET", "/home-buckets", undefined, wireHomeBucketsSchema))?.buckets ?? null;
  }

  /** Makes the stripe home to buckets that none of its partition ever was. @returns false when it did not take them */
  async takeFirstHomes(row: StripeRow, buckets: readonly number[]): Promise<boolean> {
    const body = { partition: row.partition, buckets };
    return (await this.#first(row, "POST", "/first-homes", body, undefined)) !== null;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #first<T>(
    row: StripeRow,
    method: "GET" | "PUT" | "POST",
    path: string,
    body: unknown,
    schema: z.ZodType<T> | undefined,
  ): Promise<T | null> {
    const perCall = Math.max(200, this.#timeoutMs / Math.max(1, row.services.length));
    for (const url of row.services) {
      try {
        const answer = await request(`${anyInstance(url)}${INTERNAL_BASE}${path}`, {
          method,
          dispatcher: this.#agent,
          signal: AbortSignal.timeout(perCall),
          headers: {
            [WIRE_HEADERS.place]: String(row.place),
            [WIRE_HEADERS.deadlineMs]: String(Math.floor(perCall)),
            "content-type": "application/json",
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.body.text();
        if (answer.statusCode !== 200) continue;
        return schema === undefined ? (JSON.parse(text) as T) : schema.parse(JSON.parse(text));
      } catch {
        // Unreachable or not understood: the next instance may answer; none is "unreachable", shown as such.
      }
    }
    return null;
  }
}
