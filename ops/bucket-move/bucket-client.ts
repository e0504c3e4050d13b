// Calls to a stripe's service that move a bucket. Every call may be repeated.
import { type Agent, request } from "undici";
import { z } from "zod";
import type { StripeRow } from "../../core/routing-table.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import {
  wireBucketRowsSchema,
  type WireBucketState,
  wireBucketStateSchema,
  type WireIndexRow,
} from "../../core/schemas/wire-jump.ts";
import { anyInstance } from "../../runtime/routing/instances.ts";

/** No instance of the stripe answered, or none could do it now. */
export class StripeAway extends Error {
  override readonly name = "StripeAway";
}

/** The stripe's own row does not allow the step. */
export class StepRefused extends Error {
  override readonly name = "StepRefused";
  /** The bucket's role and epoch there, when it said so. */
  readonly state: { readonly role?: unknown; readonly move_epoch?: unknown };

  constructor(detail: string, state: unknown) {
    super(detail);
    this.state = (state ?? {}) as StepRefused["state"];
  }
}

export type BucketStep = "import" | "fence" | "activate";

export class BucketClient {
  readonly #row: StripeRow;
  readonly #bucket: number;
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor(row: StripeRow, bucket: number, agent: Agent, timeoutMs: number) {
    this.#row = row;
    this.#bucket = bucket;
    this.#agent = agent;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws StripeAway */
  state(): Promise<WireBucketState> {
    return this.#call("GET", "", undefined, wireBucketStateSchema);
  }

  /** @returns the state after it @throws StripeAway, StepRefused */
  step(step: BucketStep, moveEpoch: number): Promise<WireBucketState> {
    return this.#call("POST", `/${step}`, { move_epoch: moveEpoch }, wireBucketStateSchema);
  }

  /** One page of a fenced bucket. @throws StripeAway, StepRefused */
  async rows(moveEpoch: number, after: WireIndexRow | undefined): Promise<WireIndexRow[]> {
    const query = new URLSearchParams({
      move_epoch: String(moveEpoch),
      after_mchid: after?.mchid ?? "",
      after_out_trade_no: after?.out_trade_no ?? "",
    });
    return (await this.#call("GET", `/rows?${query.toString()}`, undefined, wireBucketRowsSchema)).rows;
  }

  /** @throws StripeAway, StepRefused */
  async put(moveEpoch: number, rows: readonly WireIndexRow[]): Promise<void> {
    await this.#call("POST", "/rows", { move_epoch: moveEpoch, rows }, z.unknown());
  }

  async #call<T>(method: "GET" | "POST", path: string, body: unknown, schema: z.ZodType<T>): Promise<T> {
    for (const url of this.#row.services) {
      const answer = await this.#ask(
        `${anyInstance(url)}${INTERNAL_BASE}/buckets/${this.#bucket}${path}`,
        method,
        body,
      );
      if (answer === undefined || answer.status === 421 || answer.status >= 500) continue;
      if (answer.status === 200) return schema.parse(answer.json);
      const { detail, conflict } = answer.json as { detail?: string; conflict?: unknown };
      throw new StepRefused(`stripe ${this.#row.stripe}: ${detail ?? `status ${answer.status}`}`, conflict);
    }
    throw new StripeAway(`stripe ${this.#row.stripe} does not answer`);
  }

  async #ask(
    url: string,
    method: "GET" | "POST",
    body: unknown,
  ): Promise<{ status: number; json: unknown } | undefined> {
    try {
      const answer = await request(url, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(this.#timeoutMs),
        headers: {
          [WIRE_HEADERS.place]: String(this.#row.place),
          [WIRE_HEADERS.deadlineMs]: String(this.#timeoutMs),
          "content-type": "application/json",
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, json: JSON.parse(await answer.body.text()) };
    } catch {
      return undefined;
    }
  }
}
