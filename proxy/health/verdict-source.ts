// What the health checkers say, pulled from each of them; a checker that does not answer keeps its last word for a while
// and has none then. Without words every stripe counts as healthy: verdicts only ever make placement better.
import type { StripeNo } from "../../core/ids.ts";
import { verdictsOf } from "../../core/schemas/wire-verdicts.ts";
import { type CheckerVerdict, mergeVerdicts, type MergedVerdict, takenOutByVerdict } from "../../core/verdicts.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { TableView } from "../../runtime/routing/table-view.ts";
import { CheckerClient } from "../../runtime/verdicts/checker-client.ts";

export interface VerdictSourceOptions {
  /** Base URLs of the checkers; none: nothing is ever taken out. */
  readonly urls: readonly string[];
  readonly pollMs: number;
  readonly timeoutMs: number;
  /** How long the last word of a checker that does not answer counts. */
  readonly keepMs: number;
}

interface LastWord {
  readonly verdicts: readonly CheckerVerdict[];
  readonly atMs: number;
}

const NONE: ReadonlySet<number> = new Set();

export class VerdictSource {
  readonly #options: VerdictSourceOptions;
  readonly #logger: Logger;
  readonly #client = new CheckerClient();
  readonly #stop = new AbortController();
  readonly #words = new Map<string, LastWord>();
  #loops: Promise<void>[] = [];
  #merged: ReadonlyMap<number, MergedVerdict> = new Map();
  /** By partition, for one table; emptied whenever the verdicts are read anew. */
  #takenOut: { readonly view: TableView; readonly byPartition: Map<string, ReadonlySet<number>> } | undefined;
  #told = "";

  constructor(options: VerdictSourceOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  /** What the checkers say together now, by stripe. */
  get current(): ReadonlyMap<number, MergedVerdict> {
    return this.#merged;
  }

  /** Checkers whose word counts now. */
  get checkers(): number {
    return this.#words.size;
  }

  start(): void {
    this.#loops = this.#options.urls.map((url) => this.#poll(url));
  }

  /** Whether verdicts alone keep creates of the partition away from the stripe now. */
  takesOut(view: TableView, partition: string, stripe: StripeNo): boolean {
    if (this.#merged.size === 0) return false;
    if (this.#takenOut?.view !== view) this.#takenOut = { view, byPartition: new Map() };
    const { byPartition } = this.#takenOut;
    let out = byPartition.get(partition);
    if (out === undefined) {
      out = takenOutByVerdict(
        view.takers(partition).map((row) => row.stripe),
        this.#merged,
      );
      byPartition.set(partition, out.size === 0 ? NONE : out);
    }
    return out.has(stripe);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await this.#client.close();
  }

  async #poll(url: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const startMs = monotonicMs();
      const report = await this.#client.verdicts(url, this.#options.timeoutMs);
      if (report !== null) this.#words.set(url, { verdicts: verdictsOf(report), atMs: monotonicMs() });
      this.#merge();
      await sleep(Math.max(0, startMs + this.#options.pollMs - monotonicMs()), signal);
    }
  }

  #merge(): void {
    const oldestMs = monotonicMs() - this.#options.keepMs;
    for (const [url, { atMs }] of this.#words) if (atMs < oldestMs) this.#words.delete(url);
    this.#merged = mergeVerdicts([...this.#words.values()].map(({ verdicts }) => verdicts));
    this.#takenOut = undefined;
    const unhealthy = [...this.#merged.values()].flatMap((v) => (v.verdict === "unhealthy" ? [v.stripe] : []));
    const told = unhealthy.sort((a, b) => a - b).join(", ");
    if (told !== this.#told) this.#logger.warn({ unhealthy, checkers: this.#words.size }, "verdicts changed");
    this.#told = told;
  }
}
