import type { Server } from "node:http";
import type { Knex } from "knex";
import { closeServer, createApp, listen } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/logger.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { notFound, problemHandler, withRequestId } from "../runtime/send-problem.ts";
import type { Service } from "../runtime/shutdown.ts";
import { Rebalancer } from "./bucket-move/rebalancer.ts";
import type { OpsConfig } from "./config.ts";
import { controlSchemaFault } from "./db/control-schema-fault.ts";
import { openControl } from "./db/open-control.ts";
import { auditRoutes } from "./http/audit.ts";
import { merchantRoutes } from "./http/merchants.ts";
import { partitionRoutes } from "./http/partitions.ts";
import { rebalanceRoutes } from "./http/rebalance.ts";
import { stripeRoutes } from "./http/stripes.ts";
import { switchoverRoutes } from "./http/switchover.ts";
import { Reconciler } from "./reconciler.ts";
import { StripeClient } from "./stripe-client.ts";
import { Verdicts } from "./verdicts.ts";

const VERDICT_TIMEOUT_MS = 500;

/** The ops API: what operators see and change of the routing table, on a port of its own. */
export class OpsService implements Service {
  readonly #config: OpsConfig;
  readonly #logger: Logger;
  readonly #control: Knex;
  readonly #stripes: StripeClient;
  readonly #reconciler: Reconciler;
  readonly #verdicts: Verdicts;
  readonly #rebalancer: Rebalancer;
  #server: Server | undefined;

  private constructor(config: OpsConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.#control = openControl(config.control);
    this.#stripes = new StripeClient(config.stripeTimeoutMs);
    this.#verdicts = new Verdicts(config.checkerUrls, VERDICT_TIMEOUT_MS);
    this.#rebalancer = new Rebalancer({ control: this.#control, timeoutMs: config.stripeTimeoutMs }, logger);
    this.#reconciler = new Reconciler(this.#control, this.#stripes, config.reconcileIntervalMs, logger);
  }

  static create(config: OpsConfig, logger: Logger): OpsService {
    return new OpsService(config, logger);
  }

  async start(): Promise<void> {
    const fault = await controlSchemaFault(this.#control);
    if (fault !== null) throw new Error(fault);
    const app = createApp(createMetrics("ops"), () => this.#reconciler.readiness());
    app.use(withRequestId);
    const deps = {
      control: this.#control,
      stripes: this.#stripes,
      reconciler: this.#reconciler,
      verdicts: this.#verdicts,
    };
    app.use("/ops/v1", stripeRoutes(deps), partitionRoutes(deps), merchantRoutes(this.#control));
    app.use("/ops/v1", switchoverRoutes(this.#control), auditRoutes(this.#control));
    app.use("/ops/v1", rebalanceRoutes(this.#rebalancer));
    app.use(notFound);
    app.use(problemHandler(this.#logger));
    this.#server = await listen(app, this.#config.host, this.#config.port);
    this.#reconciler.start();
    this.#logger.info({ port: this.#config.port }, "ops API is up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server !== undefined) await closeServer(this.#server);
    await this.#reconciler.stop();
    await this.#rebalancer.stop();
    await this.#stripes.close();
    await this.#verdicts.close();
    await this.#control.destroy();
  }
}
