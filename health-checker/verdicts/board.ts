// Begins a probe of every stripe of the routing table each second, and judges a stripe whenever a probe of it ends.
import type { RoutingTable, StripeRow } from "../../core/routing-table.ts";
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
  VERDICT_RULES,
  type Watched,
  withProbe,
} from "./verdict.ts";

/** Probes of one stripe that may be under way. */
export const PROBES_AT_ONCE_MAX = 4;

export interface BoardOptions {
  /** Name of this checker. */
  readonly checker: string;
  readonly probeIntervalMs: number;
  /**
   * For a whole probe. Longer than the interval: a stripe that is slow is told from one that is silent, and a machine
   * on which everything is slow has no silent stripes. At most PROBES_AT_ONCE_MAX intervals.
   */
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
  /** Those that have not ended: at most PROBES_AT_ONCE_MAX for each stripe. */
  readonly #probes = new Set<Promise<void>>();
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
    this.#prober = new Prober(options.checker);
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    this.#prober.close();
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
        const stale = nowMs - (last?.atMs ?? -Infinity) > VERDICT_RULES.staleMs;
        return {
          stripe,
          verdict: stale ? "unknown" : watched.verdict,
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
      const table = this.#tables.current?.table;
      if (table !== undefined) this.#round(table);
      await sleep(Math.max(0, startMs + this.#options.probeIntervalMs - monotonicMs()), signal);
    }
    await Promise.all(this.#probes);
  }

  /** Begins a probe of every stripe, whether or not the last one has ended: silence must not make probes rarer. */
  #round({ stripes, version }: RoutingTable): void {
    for (const stripe of this.#watched.keys()) if (!stripes.some((row) => row.stripe === stripe)) this.#forget(stripe);
    this.#prober.keepOnly(stripes);
    for (const row of stripes) {
      const probe = this.#probe(row, version)
        .catch((error: unknown) => this.#logger.error({ err: error, stripe: row.stripe }, "a probe failed"))
        .finally(() => this.#probes.delete(probe));
      this.#probes.add(probe);
    }
  }

  async #probe(row: StripeRow, routingVersion: number): Promise<void> {
    const { stripe } = row;
    const result = await this.#prober.probe(row, routingVersion, this.#options.probeTimeoutMs);
    const nowMs = monotonicMs();
    const probe = { ok: result.ok, ms: result.ms, atMs: nowMs };
    this.#metrics.probes.inc({ stripe, outcome: result.outcome });
    if (result.ok) this.#metrics.seconds.observe({ stripe }, result.ms / 1_000);
    if (this.#tables.current?.stripe(stripe) === undefined) return; // it has left the table meanwhile
    const watched = withProbe(this.#watched.get(stripe) ?? newlyWatched(nowMs), probe);
    const others = [...this.#watched].flatMap(([other, seen]) => (other === stripe ? [] : [asOther(seen)]));
    this.#judge(stripe, watched, judged(watched, symptomOf(watched, others, nowMs), nowMs));
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
