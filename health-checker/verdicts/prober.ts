// One probe of one stripe: create, query and close the probe merchant's order, over the stripe's instances in turn and by
// the hop, as a proxy goes about it. Never rejects; bounded by its budget.
import { randomUUID } from "node:crypto";
import { ERROR_CATALOGUE } from "../../core/errors.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { wireProbeOrderSchema } from "../../core/schemas/wire-verdicts.ts";
import { Deadline, monotonicMs } from "../../runtime/clock.ts";
import { Hop } from "../../runtime/hop/hop.ts";
import type { WireOutcome } from "../../runtime/hop/wire-outcome.ts";

const CONNECT_TIMEOUT_MS = 500;
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

export class Prober {
  readonly #checker: string;
  /** By an instance's URL: one connection each, as a proxy has. */
  readonly #hops = new Map<string, Hop>();
  /** By stripe: each begins its next probe at its next instance, however many stripes there are. */
  readonly #turns = new Map<number, number>();

  /** @param checker name of this instance, kept in the probe order */
  constructor(checker: string) {
    this.#checker = checker;
  }

  /** Lets go of instances that are in no row any more. */
  keepOnly(rows: readonly StripeRow[]): void {
    const known = new Set(rows.flatMap(({ services }) => services));
    for (const [url, hop] of this.#hops) {
      if (known.has(url)) continue;
      hop.close();
      this.#hops.delete(url);
    }
  }

  async probe(row: StripeRow, routingVersion: number, budgetMs: number): Promise<ProbeResult> {
    const startMs = monotonicMs();
    const deadline = new Deadline(budgetMs);
    const fail = (outcome: string): ProbeResult => ({ ok: false, ms: monotonicMs() - startMs, outcome });
    if (row.services.length === 0) return fail("no_instance");
    const turn = (this.#turns.get(row.stripe) ?? 0) + 1;
    this.#turns.set(row.stripe, turn);
    const instances = row.services.map((_, i) => row.services[(i + turn) % row.services.length] ?? "");
    let probeId = "";
    // A create that got no answer may still be under way at its instance: the next one makes an order of its own.
    const steps = [
      () => createStep((probeId = randomUUID()), this.#checker),
      () => queryStep(probeId),
      () => closeStep(probeId),
    ];
    for (const step of steps) {
      const failure = await this.#step(step, row, instances, routingVersion, deadline);
      if (failure !== null) return fail(failure);
    }
    return { ok: true, ms: monotonicMs() - startMs, outcome: "ok" };
  }

  close(): void {
    for (const hop of this.#hops.values()) hop.destroy();
    this.#hops.clear();
  }

  /** @returns its name and how it failed at every instance that there was time for, or null */
  async #step(
    next: () => Step,
    row: StripeRow,
    instances: readonly string[],
    routingVersion: number,
    deadline: Deadline,
  ): Promise<string | null> {
    let failure = "no time left";
    for (const [i, url] of instances.entries()) {
      const left = instances.length - i;
      const budgetMs = deadline.remainingMs() / (left > 1 ? 2 : 1);
      if (budgetMs < TRY_MIN_MS) return failure;
      const step = next();
      const how = faultOf(await this.#call(url, step, row, routingVersion, budgetMs), step);
      if (how === null) return null;
      failure = `${step.name}: ${how}`;
    }
    return failure;
  }

  #call(url: string, step: Step, row: StripeRow, routingVersion: number, budgetMs: number): Promise<WireOutcome> {
    const { method, path, body } = step;
    const headers = {
      [WIRE_HEADERS.place]: String(row.place),
      [WIRE_HEADERS.routingVersion]: String(routingVersion),
      [WIRE_HEADERS.deadlineMs]: String(Math.max(1, Math.floor(budgetMs))),
    };
    return this.#hop(url).call({ method, path, headers, ...(body === undefined ? {} : { body }) }, budgetMs);
  }

  #hop(url: string): Hop {
    const known = this.#hops.get(url);
    if (known !== undefined) return known;
    const hop = new Hop(url, CONNECT_TIMEOUT_MS);
    this.#hops.set(url, hop);
    return hop;
  }
}

function createStep(probeId: string, checker: string): Step {
  const body = JSON.stringify({ probe_id: probeId, checker });
  return { name: "create", method: "POST", path: "/probes", body, state: "OPEN" };
}

function queryStep(probeId: string): Step {
  return { name: "query", method: "GET", path: `/probes/${probeId}`, state: "OPEN" };
}

function closeStep(probeId: string): Step {
  return { name: "close", method: "POST", path: `/probes/${probeId}/close`, state: "CLOSED" };
}

/**
 * Null when the answer is what the step must answer. A read that is shed is no fault of the stripe: it answers, and has
 * more to read than it likes; whether its writes get done the other steps tell.
 */
function faultOf(outcome: WireOutcome, step: Step): string | null {
  if (outcome.kind !== "answer") {
    return outcome.reason === "timeout" || outcome.reason === "connect_timeout" ? "timeout" : "no connection";
  }
  if (step.name === "query" && isShed(outcome)) return null;
  if (outcome.status !== 200) return `status ${outcome.status}`;
  try {
    const order = wireProbeOrderSchema.parse(JSON.parse(outcome.body.toString("utf8")));
    return order.state === step.state ? null : "wrong state";
  } catch {
    return "not understood";
  }
}

function isShed({ status, body }: WireOutcome & { readonly kind: "answer" }): boolean {
  if (status !== ERROR_CATALOGUE.OVERLOADED.status) return false;
  try {
    return (JSON.parse(body.toString("utf8")) as { code?: unknown } | null)?.code === "OVERLOADED";
  } catch {
    return false;
  }
}
