import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { createMetrics } from "../runtime/metrics.ts";
import type { Database } from "./database.ts";

const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5];

export interface StripeMetrics {
  readonly registry: Registry;
  /** An operation was answered; `code`: OK, CREATED, REPLAYED, POINTER or an error code. */
  readonly answered: (operation: string, code: string, seconds: number) => void;
  readonly reads: Counter<"source">;
  readonly swept: Counter;
  readonly sweepFailures: Counter;
  /** `result`: done, away, later or stuck. */
  readonly handoffRuns: Counter<"result">;
}

/** The metrics of one instance; every series bears the stripe's number. */
export function createStripeMetrics(stripe: number): StripeMetrics {
  const registry = createMetrics("stripe-service");
  registry.setDefaultLabels({ process: "stripe-service", stripe: String(stripe) });
  const registers = [registry];
  return {
    registry,
    answered: answeredOf(registers),
    reads: new Counter({
      name: "stripe_reads_total",
      help: "Answered reads by where they were read",
      labelNames: ["source"],
      registers,
    }),
    swept: new Counter({ name: "stripe_expired_orders_total", help: "Orders closed by the expiry sweep", registers }),
    handoffRuns: new Counter({
      name: "stripe_handoff_runs_total",
      help: "Tries to settle a jumped order, by what they came to",
      labelNames: ["result"],
      registers,
    }),
    sweepFailures: new Counter({ name: "stripe_sweep_failures_total", help: "Sweeps that failed", registers }),
  };
}

function answeredOf(registers: Registry[]): StripeMetrics["answered"] {
  const operations = new Counter({
    name: "stripe_operations_total",
    help: "Requests by operation and outcome",
    labelNames: ["operation", "code"],
    registers,
  });
  const seconds = new Histogram({
    name: "stripe_operation_seconds",
    help: "Time from request to answer",
    labelNames: ["operation"],
    buckets: SECONDS,
    registers,
  });
  // Series that were used, so that their labels are put together once: few, as operations and codes are.
  const series = new Map<
    string,
    { readonly count: Counter.Internal; readonly time: Histogram.Internal<"operation"> }
  >();
  return (operation, code, tookS) => {
    const name = `${operation} ${code}`;
    let used = series.get(name);
    if (used === undefined) {
      used = { count: operations.labels({ operation, code }), time: seconds.labels({ operation }) };
      series.set(name, used);
    }
    used.count.inc();
    used.time.observe(tookS);
  };
}

/** Publishes how full the pools are, how many COMMITs wait for their answer, and how often transactions are retried. */
export function observeDatabase(registry: Registry, { pools, writer, groupCommit }: Database): void {
  const registers = [registry];
  const batchSize = new Histogram({
    name: "stripe_batch_operations",
    help: "Operations that shared a transaction",
    buckets: BATCH_SIZES,
    registers,
  });
  groupCommit.onBatch = (size) => batchSize.observe(size);
  new Gauge({
    name: "stripe_batch_waiting",
    help: "Operations that wait for a batch",
    registers,
    collect() {
      this.set(groupCommit.waiting);
    },
  });
  new Gauge({
    name: "stripe_pool_connections_in_use",
    help: "Database connections in use",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [name, pool] of Object.entries(pools)) this.set({ pool: name }, pool.inUse);
    },
  });
  new Gauge({
    name: "stripe_pool_waiting",
    help: "Requests that wait for a database connection",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [name, pool] of Object.entries(pools)) this.set({ pool: name }, pool.waiting);
    },
  });
  new Gauge({
    name: "stripe_commits_in_flight",
    help: "COMMITs that wait for their answer",
    registers,
    collect() {
      this.set(writer.commitsInFlight);
    },
  });
  new Gauge({
    name: "stripe_transaction_retries",
    help: "Transactions tried again after a deadlock, a lock wait or a lost session, since the start",
    registers,
    collect() {
      this.set(writer.retries);
    },
  });
}
