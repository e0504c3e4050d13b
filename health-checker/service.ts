// The health checker: looks after the triples. Several may run; for each triple one leads and the others stand by.
import type { Server } from "node:http";
import { schemaFault } from "../core/schema-versions.ts";
import { closeServer, createApp, listen, type Readiness } from "../runtime/http-server.ts";
import { createLogger, type Logger } from "../runtime/logger.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Service } from "../runtime/shutdown.ts";
import { sleep } from "../runtime/clock.ts";
import type { HealthCheckerConfig } from "./config.ts";
import { appliedMigrations } from "./db/applied-migrations.ts";
import { ControlDb } from "./db/control-db.ts";
import { FaultPoints } from "./failover/faults.ts";
import { createFailoverMetrics } from "./failover/metrics.ts";
import { assertThresholds } from "./failover/thresholds.ts";
import { TripleController } from "./failover/triple-controller.ts";
import { addFaultRoutes, addServerRoutes, addTripleRoutes } from "./http-routes.ts";
import { Verdicts } from "./verdicts/verdicts.ts";

/** Newest migration that this process needs in the control database. */
export const HEALTH_CHECKER_SCHEMA_REQUIRED = "20261129002200";
const SCHEMA_DEADLINE_MS = 2_000;
const SCHEMA_RETRY_MS = 500;

export class HealthChecker implements Service {
  readonly logger: Logger;
  readonly #config: HealthCheckerConfig;
  readonly #db: ControlDb;
  readonly #faults: FaultPoints;
  readonly #triples: readonly TripleController[];
  readonly #verdicts: Verdicts;
  readonly #app: ReturnType<typeof createApp>;
  readonly #stop = new AbortController();
  #server: Server | null = null;
  #waiting: string | null = "starting";

  private constructor(config: HealthCheckerConfig) {
    assertThresholds();
    this.#config = config;
    this.logger = createLogger("health-checker", { instance: config.instance });
    this.#db = new ControlDb(config.control);
    this.#faults = new FaultPoints(config.faultPoints);
    const registry = createMetrics("health-checker");
    const deps = {
      db: this.#db,
      logger: this.logger,
      metrics: createFailoverMetrics(registry),
      faults: this.#faults,
    };
    this.#triples = config.triples.map((triple) => new TripleController(triple, config, deps));
    this.#verdicts = new Verdicts({ ...config, checker: config.instance }, registry, this.logger);
    this.#app = createApp(registry, () => this.#readiness());
  }

  static create(config: HealthCheckerConfig): HealthChecker {
    return new HealthChecker(config);
  }

  /** Address that it listens on. */
  get port(): number {
    const address = this.#server?.address();
    return typeof address === "object" && address !== null ? address.port : this.#config.port;
  }

  async start(): Promise<void> {
    addTripleRoutes(this.#app, this.#triples, this.#db);
    addServerRoutes(this.#app, this.#triples);
    this.#verdicts.addRoutes(this.#app);
    if (this.#faults.enabled) addFaultRoutes(this.#app, this.#faults);
    this.#server = await listen(this.#app, this.#config.host, this.#config.port);
    this.logger.info({ port: this.port, triples: this.#triples.length }, "listening");
    // Stripes are probed by the last known table while the control database is away.
    const probing = this.#verdicts.start();
    await this.#untilSchema();
    for (const triple of this.#triples) triple.start();
    await probing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#triples.map((triple) => triple[Symbol.asyncDispose]()));
    await this.#verdicts.stop();
    if (this.#server !== null) await closeServer(this.#server);
    await this.#db.close();
  }

  /** The control database may come up after this process; its schema must then be new enough. */
  async #untilSchema(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const applied = await this.#db.run(SCHEMA_DEADLINE_MS, appliedMigrations);
        this.#waiting = schemaFault(applied, HEALTH_CHECKER_SCHEMA_REQUIRED);
      } catch (error) {
        this.#waiting = `the control database: ${(error as Error).message}`;
      }
      if (this.#waiting === null) return;
      this.logger.warn({ reason: this.#waiting }, "waiting for the control database");
      await sleep(SCHEMA_RETRY_MS, this.#stop.signal);
    }
  }

  #readiness(): Readiness {
    const triples = this.#triples.map((triple) => triple.status());
    return {
      ready: this.#waiting === null,
      detail: { waiting: this.#waiting, leads: triples.filter(({ leads }) => leads).map(({ tripleId }) => tripleId) },
    };
  }
}
