import { Counter, Gauge } from "prom-client";
import type { Logger } from "../runtime/logger.ts";
import { createLogger } from "../runtime/logger.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { readEnv } from "../runtime/env.ts";
import type { Service } from "../runtime/shutdown.ts";
import { StorageAgent } from "./agent.ts";
import type { AgentServerConfig } from "./config.ts";

const PROCESS = "storage-agent";

/** One process that hosts the agents of one or several servers; its metrics are on the first agent's port. */
export class AgentsProcess implements Service {
  readonly logger: Logger;
  readonly #agents: readonly StorageAgent[];

  private constructor(logger: Logger, agents: readonly StorageAgent[]) {
    this.logger = logger;
    this.#agents = agents;
  }

  static create(configs: readonly AgentServerConfig[]): AgentsProcess {
    const logger = createLogger(PROCESS);
    const registry = createMetrics(PROCESS);
    const commands = new Counter({
      name: "agent_commands_total",
      help: "Commands answered, by outcome",
      labelNames: ["server", "command", "outcome"],
      registers: [registry],
    });
    const agents = configs.map((config, index) =>
      StorageAgent.create(config, {
        logger,
        faultPoints: readEnv("FAULT_POINTS") === "1",
        onReply: (command, reply) =>
          commands.inc({ server: config.name, command, outcome: reply.ok ? "done" : reply.code }),
        ...(index === 0 && {
          metrics: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
        }),
      }),
    );
    new Gauge({
      name: "agent_server_role",
      help: "1 for the role that the server has now",
      labelNames: ["server", "role"],
      registers: [registry],
      collect() {
        this.reset();
        for (const agent of agents) this.set({ server: agent.config.name, role: agent.role }, 1);
      },
    });
    return new AgentsProcess(logger, agents);
  }

  /** Starts all agents together; rejects when one cannot listen or cannot start its mysqld. */
  async start(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.start()));
    this.logger.info({ servers: this.#agents.map(({ config }) => config.name) }, "agents started");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent[Symbol.asyncDispose]()));
  }
}
