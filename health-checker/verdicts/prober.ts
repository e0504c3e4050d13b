// One probe of one stripe: create, query and close the probe merchant's order, over the stripe's instances in turn as a
// proxy goes about it. Never rejects; bounded by its budget.
import { randomUUID } from "node:crypto";
import type { StripeRow } from "../../core/routing-table.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { wireProbeOrderSchema } from "../../core/schemas/wire-verdicts.ts";
import { Deadline, monotonicMs } from "../../runtime/clock.ts";
import { HttpCalls, NoAnswer } from "../../runtime/http-calls.ts";

const ANSWER_BYTES_MAX = 64 * 1024;
/** Less than this is not worth a try. */
const TRY_MIN_MS = 20;

export interface ProbeResult {
  readonly ok: boolean;
  readonly ms: number;
  /** `ok`, or the step that failed and how: `create: timeout`. Few values. */
  readonly outcome: string;
}

interface Step {
  readonly name: "create" | "query" | "close";
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly state: "OPEN" | "CLOSED";
}

type Answer =
  | { readonly kind: "answer"; readonly status: number; readonly text: string }
  | { readonly kind: "none"; readonly how: string };

export class Prober {
  readonly #checker: string;
  readonly #calls: HttpCalls;
  /** By stripe: each begins its next probe at its next instance, however many stripes there are. */
  readonly #turns = new Map<number, number>();

  /**
   * @param checker name of this instance, kept in the probe order
   * @param atOnceMax probes of one stripe at the same time
   */
  constructor(checker: string, atOnceMax: number) {
    this.#checker = checker;
    this.#calls = new HttpCalls(2 * atOnceMax, ANSWER_BYTES_MAX); // one that is being given up has not gone yet
  }

  async probe(row: StripeRow, routingVersion: number, budgetMs: number): Promise<ProbeResult> {
    const startMs = monotonicMs();
    const deadline = new Deadline(budgetMs);
    const fail = (outcome: string): ProbeResult => ({ ok: false, ms: monotonicMs() - startMs, outcome });
    if (row.services.length === 0) return fail("no_instance");
    const turn = (this.#turns.get(row.stripe) ?? 0) + 1;
    this.#turns.set(row.stripe, turn);
    const instances = row.services.map((_, i) => row.services[(i + turn) % row.services.length] ?? "");
    for (const step of stepsOf(randomUUID(), this.#checker)) {
      const failure = await this.#step(step, row, instances, routingVersion, deadline);
      if (failure !== null) return fail(`${step.name}: ${failure}`);
    }
    return { ok: true, ms: monotonicMs() - startMs, outcome: "ok" };
  }

  close(): void {
    this.#calls.close();
  }

  /** @returns how it failed at every instance that there was time for, or null */
  async #step(
    step: Step,
    row: StripeRow,
    instances: readonly string[],
    routingVersion: number,
    deadline: Deadline,
  ): Promise<string | null> {
    let failure = "timeout";
    for (const [i, url] of instances.entries()) {
      const left = instances.length - i;
      const budgetMs = deadline.remainingMs() / (left > 1 ? 2 : 1);
      if (budgetMs < TRY_MIN_MS) return failure;
      const answer = await this.#call(url, step, row, routingVersion, budgetMs);
      const how = answer.kind === "none" ? answer.how : faultOf(answer, step);
      if (how === null) return null;
      failure = how;
    }
    return failure;
  }

  async #call(url: string, step: Step, row: StripeRow, routingVersion: number, budgetMs: number): Promise<Answer> {
    try {
      const { status, text } = await this.#calls.call({
        method: step.method,
        url: `${url}${INTERNAL_BASE}${step.path}`,
        deadlineMs: Math.ceil(budgetMs),
        headers: {
          [WIRE_HEADERS.place]: String(row.place),
          [WIRE_HEADERS.routingVersion]: String(routingVersion),
          [WIRE_HEADERS.deadlineMs]: String(Math.max(1, Math.floor(budgetMs))),
          ...(step.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: step.body,
      });
      return { kind: "answer", status, text };
    } catch (error) {
      return { kind: "none", how: error instanceof NoAnswer && error.late ? "timeout" : "no connection" };
    }
  }
}

function stepsOf(probeId: string, checker: string): Step[] {
  return [
    {
      name: "create",
      method: "POST",
      path: "/probes",
      body: JSON.stringify({ probe_id: probeId, checker }),
      state: "OPEN",
    },
    { name: "query", method: "GET", path: `/probes/${probeId}`, state: "OPEN" },
    { name: "close", method: "POST", path: `/probes/${probeId}/close`, state: "CLOSED" },
  ];
}

/** Null when the answer is what the step must answer. */
function faultOf({ status, text }: Answer & { kind: "answer" }, step: Step): string | null {
  if (status !== 200) return `status ${status}`;
  try {
    return wireProbeOrderSchema.parse(JSON.parse(text)).state === step.state ? null : "wrong state";
  } catch {
    return "not understood";
  }
}
