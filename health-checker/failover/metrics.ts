import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface FailoverMetrics {
  readonly leads: Gauge<"stripe">;
  readonly epoch: Gauge<"stripe">;
  /** 1 for each problem that a triple has now. */
  readonly problem: Gauge<"stripe" | "code">;
  readonly recoveries: Counter<"stripe" | "kind" | "outcome">;
  readonly recoverySeconds: Histogram<"kind">;
  readonly violations: Counter<"stripe">;
}

export function createFailoverMetrics(registry: Registry): FailoverMetrics {
  const registers = [registry];
  return {
    leads: new Gauge({
      name: "failover_leads",
      help: "1 when this process leads the triple",
      labelNames: ["stripe"],
      registers,
    }),
    epoch: new Gauge({
      name: "failover_epoch",
      help: "epoch of the triple's record",
      labelNames: ["stripe"],
      registers,
    }),
    problem: new Gauge({
      name: "failover_problem",
      help: "1 for each problem that the triple has now",
      labelNames: ["stripe", "code"],
      registers,
    }),
    recoveries: new Counter({
      name: "failover_recoveries_total",
      help: "recoveries that ended",
      labelNames: ["stripe", "kind", "outcome"],
      registers,
    }),
    recoverySeconds: new Histogram({
      name: "failover_recovery_seconds",
      help: "how long recoveries took",
      labelNames: ["kind"],
      buckets: [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300],
      registers,
    }),
    violations: new Counter({
      name: "failover_assertion_violations_total",
      help: "runtime assertions that did not hold: the triple is left alone until a person has looked",
      labelNames: ["stripe"],
      registers,
    }),
  };
}
