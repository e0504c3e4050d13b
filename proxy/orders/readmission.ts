// A home that was avoided gets creates again only once it knows of the orders that jumped meanwhile: a create that comes
// too early makes a second order of a number that is waiting on another stripe. This only makes doubles rarer. It never
// stops a create: a home that is not readmitted yet is asked last.
import type { Bucket } from "../../core/ids.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { wirePendingSchema } from "../../core/schemas/wire-jump.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import type { TableSource } from "../../runtime/routing/table-source.ts";
import type { TableView } from "../../runtime/routing/table-view.ts";
import { isSuccess, jsonOf } from "../upstream/answers.ts";
import type { Breaker } from "../upstream/breaker.ts";
import type { Fleet } from "../upstream/fleet.ts";
import type { WireAnswer } from "../../runtime/hop/wire-outcome.ts";

/** An answer of the stripes counts for this long. */
const CHECK_SPACING_MS = 250;
/** A create waits this long for a check that it began, and others do not wait. */
const CHECK_WAIT_MS = 200;
const CALL_TIMEOUT_MS = 300;
/** Stripes asked by one check at most. */
const ASKED_MAX = 64;

interface Shut {
  /** Since when the home has answered again; undefined: it does not. */
  reachableSinceMs: number | undefined;
  checkedAtMs: number;
  checking: Promise<boolean> | undefined;
}

export interface ReadmissionLimits {
  /** A home that answers is readmitted after this long whatever the stripes say. */
  readonly readmitWaitMaxMs: number;
}

export class Readmission {
  readonly #fleet: Fleet;
  readonly #tables: TableSource;
  readonly #limits: ReadmissionLimits;
  /** Homes that must be checked before creates go there. */
  readonly #shut = new Map<number, Shut>();

  constructor(fleet: Fleet, tables: TableSource, limits: ReadmissionLimits) {
    this.#fleet = fleet;
    this.#tables = tables;
    this.#limits = limits;
  }

  /** The stripe is being avoided for another reason than its mask. */
  shut(stripe: number): void {
    if (!this.#shut.has(stripe)) this.#shut.set(stripe, fresh());
  }

  /** Whether a create may go to its home first. True during a pause of its mask makes the caller the trial. */
  admits(home: StripeRow): boolean | Promise<boolean> {
    const mask = this.#fleet.line(home.stripe)?.client.mask;
    if (mask?.paused === true) this.shut(home.stripe);
    const shut = this.#shut.get(home.stripe);
    return shut === undefined ? true : this.#admitsShut(home, shut, mask);
  }

  async #admitsShut(home: StripeRow, shut: Shut, mask: Breaker | undefined): Promise<boolean> {
    if (shut.checking !== undefined || monotonicMs() - shut.checkedAtMs < CHECK_SPACING_MS) return false;
    if (mask?.admit() === false) return false;
    const checking = this.#check(home, shut).finally(() => {
      shut.checking = undefined;
      shut.checkedAtMs = monotonicMs();
    });
    shut.checking = checking;
    const stop = new AbortController();
    const late = sleep(CHECK_WAIT_MS, stop.signal).then(() => false);
    try {
      return await Promise.race([checking, late]);
    } finally {
      stop.abort();
    }
  }

  async #check(home: StripeRow, shut: Shut): Promise<boolean> {
    if ((await this.#anyPending(home, shut)) && !(await this.#waitedEnough(home, shut))) return false;
    this.#shut.delete(home.stripe);
    return true;
  }

  /**
   * Whether a stripe that answers holds orders whose home is this stripe now and does not know them yet. Those that jumped
   * since the home has answered again do not count: while the gate is shut all of its creates jump, so that under load
   * some order always waits.
   */
  async #anyPending(home: StripeRow, { reachableSinceMs }: Shut): Promise<boolean> {
    const view = this.#tables.current;
    if (view === null) return false;
    const others = view.members(home.partition).filter(({ stripe }) => stripe !== home.stripe);
    const olderMs = reachableSinceMs === undefined ? 0 : Math.floor(monotonicMs() - reachableSinceMs);
    const answers = await Promise.all(others.slice(0, ASKED_MAX).map((row) => this.#holds(view, row, home, olderMs)));
    return answers.includes(true);
  }

  async #holds(view: TableView, row: StripeRow, home: StripeRow, olderMs: number): Promise<boolean> {
    const answer = await this.#get(row, `/handoffs/pending?older_ms=${olderMs}`);
    const pending = wirePendingSchema.safeParse(answer === undefined ? undefined : jsonOf(answer));
    if (!pending.success) return false;
    return pending.data.buckets.some((bucket) => view.home(home.partition, bucket as Bucket)?.stripe === home.stripe);
  }

  async #waitedEnough(home: StripeRow, shut: Shut): Promise<boolean> {
    const mask = this.#fleet.line(home.stripe)?.client.mask;
    if ((await this.#get(home, "/stripe-state")) === undefined) {
      shut.reachableSinceMs = undefined;
      if (mask?.paused === true) mask.failed();
      return false;
    }
    // The mask ends here: this gate keeps creates away meanwhile, and look-ups at home are possible again.
    mask?.succeeded();
    shut.reachableSinceMs ??= monotonicMs();
    return monotonicMs() - shut.reachableSinceMs >= this.#limits.readmitWaitMaxMs;
  }

  async #get(row: StripeRow, path: string): Promise<WireAnswer | undefined> {
    const outcome = await this.#fleet.line(row.stripe)?.client.call(
      { method: "GET", path: `${INTERNAL_BASE}${path}` },
      {
        budgetMs: CALL_TIMEOUT_MS,
        tryTimeoutMs: CALL_TIMEOUT_MS,
        headers: {},
        routingVersion: this.#tables.current?.version ?? 0,
      },
    );
    return outcome?.kind === "answer" && isSuccess(outcome) ? outcome : undefined;
  }
}

function fresh(): Shut {
  return { reachableSinceMs: undefined, checkedAtMs: Number.NEGATIVE_INFINITY, checking: undefined };
}
