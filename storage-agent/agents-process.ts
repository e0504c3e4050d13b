import type { Logger } from "../runtime/logger.ts";
import { createLogger } from "../runtime/logger.ts";
import { readEnv } from "../runtime/env.ts";
import type { Service } from "../runtime/shutdown.ts";
import { StorageAgent } from "./agent.ts";
import type { AgentServerConfig } from "./config.ts";
import type { AgentsMetrics, CommandCount } from "./metrics.ts";

const PROCESS = "storage-agent";

/** One process that hosts the agents of one or several servers; its metrics are on the first agent's port. */
export class AgentsProcess implements Service {
  readonly logger: Logger;
  readonly #agents: readonly StorageAgent[];
  readonly #commands = new Map<string, CommandCount>();
  #metrics: Promise<AgentsMetrics> | null = null;

  private constructor(configs: readonly AgentServerConfig[]) {
    this.logger = createLogger(PROCESS);
    this.#agents = configs.map((config, index) =>
      StorageAgent.create(config, {
        logger: this.logger,
        faultPoints: readEnv("FAULT_POINTS") === "1",
        onReply: (command, reply) => this.#count(config.name, command, reply.ok ? "done" : reply.code),
        ...(index === 0 && { metrics: async () => (await this.#loadMetrics()).text() }),
      }),
    );
  }

  static create(configs: readonly AgentServerConfig[]): AgentsProcess {
    return new AgentsProcess(configs);
  }

  #count(server: string, command: string, outcome: string): void {
    const key = `${server} ${command} ${outcome}`;
    const counted = this.#commands.get(key) ?? { server, command, outcome, count: 0 };
    counted.count += 1;
    this.#commands.set(key, counted);
  }

  #loadMetrics(): Promise<AgentsMetrics> {
    const roles = () => this.#agents.map(({ config, role }) => ({ server: config.name, role }));
    this.#metrics ??= import("./metrics.ts").then(({ agentsMetrics }) =>
      agentsMetrics(PROCESS, () => this.#commands.values(), roles),
    );
    return this.#metrics;
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
