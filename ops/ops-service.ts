import type { Server } from "node:http";
import type { Knex } from "knex";
import { documentation } from "../runtime/edge/documentation.ts";
import { answerMalformedRequests } from "../runtime/edge/malformed.ts";
import { strictApp } from "../runtime/edge/strict-app.ts";
import { opsOpenApiDocument } from "../core/openapi-ops.ts";
import { closeServer, createApp, listen } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/logger.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Service } from "../runtime/shutdown.ts";
import { Rebalancer } from "./bucket-move/rebalancer.ts";
import type { OpsConfig } from "./config.ts";
import { Checkers } from "./checkers.ts";
import { controlSchemaFault } from "./db/control-schema-fault.ts";
import { openControl } from "./db/open-control.ts";
import { auditRoutes } from "./http/audit.ts";
import { merchantRoutes } from "./http/merchants.ts";
import { opsRouter } from "./http/ops-router.ts";
import { partitionRoutes } from "./http/partitions.ts";
import { rebalanceRoutes } from "./http/rebalance.ts";
import { stripeRoutes } from "./http/stripes.ts";
import { switchoverRoutes } from "./http/switchover.ts";
import { Reconciler } from "./reconciler.ts";
import { StripeClient } from "./stripe-client.ts";

const CHECKER_TIMEOUT_MS = 500;

/** The ops API: what operators see and change of the routing table, on a port of its own. */
export class OpsService implements Service {
  readonly #config: OpsConfig;
  readonly #logger: Logger;
  readonly #control: Knex;
  readonly #stripes: StripeClient;
  readonly #reconciler: Reconciler;
  readonly #checkers: Checkers;
  readonly #rebalancer: Rebalancer;
  #server: Server | undefined;

  private constructor(config: OpsConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.#control = openControl(config.control);
    this.#stripes = new StripeClient(config.stripeTimeoutMs);
    this.#checkers = new Checkers(config.checkerUrls, CHECKER_TIMEOUT_MS);
    this.#rebalancer = new Rebalancer({ control: this.#control, timeoutMs: config.stripeTimeoutMs }, logger);
    this.#reconciler = new Reconciler(this.#control, this.#stripes, config.reconcileIntervalMs, logger);
  }

  static create(config: OpsConfig, logger: Logger): OpsService {
    return new OpsService(config, logger);
  }

  async start(): Promise<void> {
    const fault = await controlSchemaFault(this.#control);
    if (fault !== null) throw new Error(fault);
    const deps = {
      control: this.#control,
      stripes: this.#stripes,
      reconciler: this.#reconciler,
      checkers: this.#checkers,
    };
    const routes = opsRouter([
      ...stripeRoutes(deps),
      ...partitionRoutes(deps),
      ...rebalanceRoutes(this.#rebalancer),
      ...merchantRoutes(this.#control),
      ...switchoverRoutes(this.#control),
      ...auditRoutes(this.#control),
    ]);
    const common = createApp(createMetrics("ops"), () => this.#reconciler.readiness());
    const app = strictApp({ "/ops/v1": routes, "/": documentation(opsOpenApiDocument()) }, common, this.#logger);
    this.#server = await listen(app, this.#config.host, this.#config.port);
    answerMalformedRequests(this.#server);
    this.#reconciler.start();
    this.#rebalancer.startResuming();
    this.#logger.info({ port: this.#config.port }, "ops API is up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server !== undefined) await closeServer(this.#server);
    await this.#reconciler.stop();
    await this.#rebalancer.stop();
    await this.#stripes.close();
    await this.#checkers.close();
    await this.#control.destroy();
  }
}
