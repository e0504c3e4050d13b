// Probes every stripe of the routing table at the same moment, second by second, and judges them together.
import type { StripeRow } from "../../core/routing-table.ts";
import type { WireStripeVerdict } from "../../core/schemas/wire-verdicts.ts";
import { monotonicMs, sleep, wallNowMs } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { TableSource } from "../../runtime/routing/table-source.ts";
import type { VerdictHistory } from "./history.ts";
import type { VerdictMetrics } from "./metrics.ts";
import { Prober } from "./prober.ts";
import {
  asOther,
  judged,
  latencyOf,
  newlyWatched,
  successRateOf,
  symptomOf,
  type Watched,
  withProbe,
} from "./verdict.ts";

export interface BoardOptions {
  /** Name of this checker. */
  readonly checker: string;
  readonly probeIntervalMs: number;
  /** For a whole probe; shorter than the interval. */
  readonly probeTimeoutMs: number;
}

export class VerdictBoard {
  readonly #options: BoardOptions;
  readonly #tables: TableSource;
  readonly #history: VerdictHistory;
  readonly #metrics: VerdictMetrics;
  readonly #logger: Logger;
  readonly #prober: Prober;
  readonly #stop = new AbortController();
  readonly #watched = new Map<number, Watched>();
  #loop: Promise<void> = Promise.resolve();

  constructor(
    options: BoardOptions,
    deps: { tables: TableSource; history: VerdictHistory; metrics: VerdictMetrics; logger: Logger },
  ) {
    this.#options = options;
    this.#tables = deps.tables;
    this.#history = deps.history;
    this.#metrics = deps.metrics;
    this.#logger = deps.logger;
    this.#prober = new Prober(options.checker, options.probeTimeoutMs);
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#prober.close();
  }

  /** What this checker says now, by stripe number. */
  verdicts(): WireStripeVerdict[] {
    const nowMs = monotonicMs();
    const nowWallMs = wallNowMs();
    return [...this.#watched]
      .sort(([a], [b]) => a - b)
      .map(([stripe, watched]) => {
        const last = watched.probes.at(-1);
        const ageMs = Math.max(0, nowMs - watched.sinceMs);
        return {
          stripe,
          verdict: watched.verdict,
          since: new Date(nowWallMs - ageMs).toISOString(),
          age_ms: Math.round(ageMs),
          reason: watched.reason,
          latency_ms: rounded(latencyOf(watched)),
          baseline_ms: rounded(watched.pastMs),
          success_rate: successRateOf(watched),
          probed_age_ms: last === undefined ? null : Math.round(Math.max(0, nowMs - last.atMs)),
        };
      });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const startMs = monotonicMs();
      try {
        await this.#round();
      } catch (error) {
        this.#logger.error({ err: error }, "a round of probes failed");
      }
      await sleep(Math.max(0, startMs + this.#options.probeIntervalMs - monotonicMs()), signal);
    }
  }

  async #round(): Promise<void> {
    const table = this.#tables.current?.table;
    if (table === undefined) return;
    for (const stripe of this.#watched.keys())
      if (!table.stripes.some((row) => row.stripe === stripe)) this.#forget(stripe);
    await Promise.all(table.stripes.map((row) => this.#probe(row, table.version)));
    const nowMs = monotonicMs();
    const before = new Map(this.#watched);
    for (const [stripe, watched] of before) {
      const others = [...before].flatMap(([other, seen]) => (other === stripe ? [] : [asOther(seen)]));
      this.#judge(stripe, watched, judged(watched, symptomOf(watched, others, nowMs), nowMs));
    }
  }

  async #probe(row: StripeRow, routingVersion: number): Promise<void> {
    const result = await this.#prober.probe(row, routingVersion, this.#options.probeTimeoutMs);
    const probe = { ok: result.ok, ms: result.ms, atMs: monotonicMs() };
    this.#watched.set(row.stripe, withProbe(this.#watched.get(row.stripe) ?? newlyWatched(probe.atMs), probe));
    this.#metrics.probes.inc({ stripe: row.stripe, outcome: result.outcome });
    if (result.ok) this.#metrics.seconds.observe({ stripe: row.stripe }, result.ms / 1_000);
  }

  #judge(stripe: number, before: Watched, after: Watched): void {
    this.#watched.set(stripe, after);
    for (const verdict of [before.verdict, after.verdict]) {
      this.#metrics.verdict.set({ stripe, verdict }, verdict === after.verdict ? 1 : 0);
    }
    if (after.verdict === before.verdict) return;
    const change = {
      stripe,
      from: before.verdict,
      to: after.verdict,
      reason: after.reason,
      latencyMs: rounded(latencyOf(after)),
      successRate: successRateOf(after),
    };
    this.#history.add({ ...change, checker: this.#options.checker });
    this.#logger[after.verdict === "healthy" ? "info" : "warn"](change, "verdict changed");
  }

  #forget(stripe: number): void {
    const verdict = this.#watched.get(stripe)?.verdict;
    if (verdict !== undefined) this.#metrics.verdict.remove({ stripe, verdict });
    this.#watched.delete(stripe);
  }
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}
