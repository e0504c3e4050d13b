// Metrics of a process of agents. Loaded when they are first asked for: a process that nobody scrapes does not pay.
import { Counter, Gauge } from "prom-client";
import { createMetrics } from "../runtime/metrics.ts";

export interface CommandCount {
  readonly server: string;
  readonly command: string;
  /** `done`, or the code of the failure. */
  readonly outcome: string;
  count: number;
}

export interface AgentsMetrics {
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** @param commands counts since the start; @param roles of the servers now */
export function agentsMetrics(
  process_: string,
  commands: () => Iterable<CommandCount>,
  roles: () => Iterable<{ readonly server: string; readonly role: string }>,
): AgentsMetrics {
  const registry = createMetrics(process_);
  new Counter({
    name: "agent_commands_total",
    help: "Commands answered, by outcome",
    labelNames: ["server", "command", "outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { count, ...labels } of commands()) this.inc(labels, count);
    },
  });
  new Gauge({
    name: "agent_server_role",
    help: "1 for the role that the server has now",
    labelNames: ["server", "role"],
    registers: [registry],
    collect() {
      this.reset();
      for (const labels of roles()) this.set({ ...labels }, 1);
    },
  });
  return { text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }) };
}
