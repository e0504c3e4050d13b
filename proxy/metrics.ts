import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { VerdictSource } from "./health/verdict-source.ts";
import type { Fleet } from "./upstream/fleet.ts";
import type { TableSource } from "../runtime/routing/table-source.ts";

const LATENCY_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5];

/** The proxy's own series. Labels stay few: stripes and codes, never merchants or numbers. */
export class ProxyMetrics {
  readonly #requests: Counter<"route" | "status">;
  readonly #durations: Histogram<"route">;
  /** Series that were used, so that their labels are put together once: few, as routes and statuses are. */
  readonly #series = new Map<
    string,
    { readonly count: Counter.Internal; readonly seconds: Histogram.Internal<"route"> }
  >();
  readonly attempts: Counter<"stripe" | "outcome">;
  readonly jumps: Counter<"from" | "reason">;
  readonly misdirected: Counter<"stripe">;
  readonly lookupStripes: Histogram;
  readonly refreshes: Counter<"result">;
  readonly shed: Counter<"stripe" | "reason">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: "proxy_requests_total",
      help: "merchant requests by route and status",
      labelNames: ["route", "status"],
      registers,
    });
    this.#durations = new Histogram({
      name: "proxy_request_duration_seconds",
      help: "from the first byte of a request to the end of its answer",
      labelNames: ["route"],
      buckets: LATENCY_BUCKETS_S,
      registers,
    });
    this.attempts = new Counter({
      name: "proxy_create_attempts_total",
      help: "attempts to place an order, by stripe and outcome",
      labelNames: ["stripe", "outcome"],
      registers,
    });
    this.jumps = new Counter({
      name: "proxy_jumps_total",
      help: "creates that went on to another stripe: which one would not take them, and why",
      labelNames: ["from", "reason"],
      registers,
    });
    this.misdirected = new Counter({
      name: "proxy_misdirected_total",
      help: "answers 421 of stripe services: the routing table was behind",
      labelNames: ["stripe"],
      registers,
    });
    this.lookupStripes = new Histogram({
      name: "proxy_lookup_stripes",
      help: "stripes asked by one look-up by merchant number",
      buckets: [1, 2, 3, 5, 10, 30, 100],
      registers,
    });
    this.refreshes = new Counter({
      name: "proxy_routing_refreshes_total",
      help: "routing table refreshes asked for by a request",
      labelNames: ["result"],
      registers,
    });
    this.shed = new Counter({
      name: "proxy_shed_total",
      help: "calls that were not made because the stripe had no place for them, or none for this merchant",
      labelNames: ["stripe", "reason"],
      registers,
    });
  }

  /** A request was answered. @param status 0: its caller went away */
  answered(route: string, status: number, seconds: number): void {
    const name = `${status} ${route}`;
    let series = this.#series.get(name);
    if (series === undefined) {
      series = { count: this.#requests.labels({ route, status }), seconds: this.#durations.labels({ route }) };
      this.#series.set(name, series);
    }
    series.count.inc();
    series.seconds.observe(seconds);
  }
}

/** Gauges that are read when somebody asks. */
export function observeState(
  registry: Registry,
  { fleet, tables, verdicts }: { fleet: Fleet; tables: TableSource; verdicts: VerdictSource },
): void {
  const registers = [registry];
  observeLoad(registry, fleet, verdicts);
  new Gauge({
    name: "proxy_stripe_masked",
    help: "1 while creates avoid the stripe because calls to it failed",
    labelNames: ["stripe"],
    registers,
    collect() {
      this.reset();
      for (const { client } of fleet.lines()) this.set({ stripe: client.stripe }, client.mask.paused ? 1 : 0);
    },
  });
  new Gauge({
    name: "proxy_routing_table_version",
    help: "version of the routing table in use; 0 = none yet",
    registers,
    collect() {
      this.set(tables.health().version ?? 0);
    },
  });
  new Gauge({
    name: "proxy_routing_table_age_seconds",
    help: "since the control database last confirmed the table; -1 = never since the start",
    registers,
    collect() {
      const { confirmedAgeMs } = tables.health();
      this.set(confirmedAgeMs === null ? -1 : confirmedAgeMs / 1000);
    },
  });
}

function observeLoad(registry: Registry, fleet: Fleet, verdicts: VerdictSource): void {
  const registers = [registry];
  new Gauge({
    name: "proxy_stripe_in_flight",
    help: "calls in flight to a stripe",
    labelNames: ["stripe"],
    registers,
    collect() {
      this.reset();
      for (const { client } of fleet.lines()) this.set({ stripe: client.stripe }, client.inFlight);
    },
  });
  new Gauge({
    name: "proxy_stripe_in_flight_limit",
    help: "calls that may be in flight to a stripe now: less than the maximum while it is slow",
    labelNames: ["stripe"],
    registers,
    collect() {
      this.reset();
      for (const { client } of fleet.lines()) this.set({ stripe: client.stripe }, client.places);
    },
  });
  new Gauge({
    name: "proxy_stripe_unhealthy",
    help: "1 while the health checkers together call the stripe unhealthy",
    labelNames: ["stripe"],
    registers,
    collect() {
      this.reset();
      for (const { stripe, verdict } of verdicts.current.values())
        this.set({ stripe }, verdict === "unhealthy" ? 1 : 0);
    },
  });
  new Gauge({
    name: "proxy_health_checkers",
    help: "health checkers whose word counts now",
    registers,
    collect() {
      this.set(verdicts.checkers);
    },
  });
}

/** Counts a call that was refused here because of the places in flight. */
export function countShed(
  ctx: { metrics: ProxyMetrics },
  stripe: number,
  outcome: { kind: string; reason?: string },
): void {
  const { kind, reason } = outcome;
  if (kind === "unwritten" && (reason === "overloaded" || reason === "hot_merchant"))
    ctx.metrics.shed.inc({ stripe, reason });
}
