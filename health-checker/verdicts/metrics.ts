import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface VerdictMetrics {
  /** `outcome`: ok, or the step and how it failed. */
  readonly probes: Counter<"stripe" | "outcome">;
  readonly seconds: Histogram<"stripe">;
  /** 1 for the verdict that a stripe has now. */
  readonly verdict: Gauge<"stripe" | "verdict">;
}

export function createVerdictMetrics(registry: Registry): VerdictMetrics {
  const registers = [registry];
  return {
    probes: new Counter({
      name: "checker_probes_total",
      help: "probes by stripe and outcome",
      labelNames: ["stripe", "outcome"],
      registers,
    }),
    seconds: new Histogram({
      name: "checker_probe_seconds",
      help: "successful probes: create, query and close together",
      labelNames: ["stripe"],
      buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
      registers,
    }),
    verdict: new Gauge({
      name: "checker_verdict",
      help: "1 for the verdict that this checker has on the stripe now",
      labelNames: ["stripe", "verdict"],
      registers,
    }),
  };
}
