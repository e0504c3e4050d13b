import type { Server } from "node:http";
import { closeServer, listen } from "../runtime/http-server.ts";
import { createLogger, type Logger } from "../runtime/logger.ts";
import { TableSource } from "../runtime/routing/table-source.ts";
import type { StripeServiceConfig } from "./config.ts";
import { Database } from "./database.ts";
import { createStripeApp } from "./http/app.ts";
import { HopServer } from "./http/hop.ts";
import { Faults } from "./faults.ts";
import { createStripeMetrics, observeDatabase, type StripeMetrics } from "./metrics.ts";
import { leaseSequenceBlock } from "./orders/lease-sequence-block.ts";
import { RefundNumbers } from "./orders/refund-numbers.ts";
import { ReadinessMonitor } from "./readiness.ts";
import { Peers } from "./resolver/peers.ts";
import { Resolver } from "./resolver/resolver.ts";
import { Sweeper } from "./sweeper.ts";

interface Resolving {
  readonly tables: TableSource;
  readonly peers: Peers;
  readonly resolver: Resolver;
}

/** The logic service of one stripe: one of several like instances. */
export class StripeService {
  readonly logger: Logger;
  readonly #config: StripeServiceConfig;
  readonly #metrics: StripeMetrics;
  readonly #database: Database;
  readonly #monitor: ReadinessMonitor;
  readonly #sweeper: Sweeper;
  readonly #faults: Faults;
  #server: Server | undefined;
  #hop: HopServer | undefined;
  #resolving: Resolving | undefined;

  static create(config: StripeServiceConfig): StripeService {
    return new StripeService(config);
  }

  private constructor(config: StripeServiceConfig) {
    const { stripe, place, instance, limits } = config;
    this.#config = config;
    this.logger = createLogger("stripe-service", { stripe, place, instance });
    this.#metrics = createStripeMetrics(stripe);
    this.#database = new Database(config);
    const { writer, pools } = this.#database;
    observeDatabase(this.#metrics.registry, this.#database);
    this.#monitor = new ReadinessMonitor({
      pool: pools.primary_read,
      place,
      intervalMs: limits.readyCheckIntervalMs,
      deadlineMs: limits.dbDeadlineMs,
      logger: this.logger,
    });
    this.#faults = new Faults(config.faultPoints);
    this.#sweeper = new Sweeper({
      writer,
      intervalS: limits.sweepIntervalS,
      batchMax: limits.sweepBatchMax,
      batchesMax: limits.sweepBatchesMax,
      deadlineMs: limits.dbDeadlineMs,
      metrics: this.#metrics,
      logger: this.logger,
    });
  }

  /** @throws Error when the address is taken or the schema does not fit; a database that is away is waited for */
  async start(): Promise<void> {
    const { host, port, stripe, limits } = this.#config;
    await this.#monitor.start();
    const refundNumbers = new RefundNumbers({
      stripe,
      blockSize: limits.refundBlockSize,
      leaseDeadlineMs: limits.dbDeadlineMs,
      lease: async (size, deadline) => {
        const outcome = await this.#database.writer.run(deadline, {}, (tx) => leaseSequenceBlock(tx, "refunds", size));
        if (outcome.ok) return outcome.value;
        throw outcome.error;
      },
    });
    const context = {
      config: this.#config,
      database: this.#database,
      monitor: this.#monitor,
      metrics: this.#metrics,
      refundNumbers,
      faults: this.#faults,
      logger: this.logger,
    };
    this.#server = await listen(createStripeApp(context), host, port);
    this.#hop = new HopServer(context);
    this.#hop.attach(this.#server);
    this.#sweeper.start();
    await this.#startResolving();
    this.logger.info({ host, port }, "serving");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hop?.leave();
    if (this.#server !== undefined) await closeServer(this.#server);
    await this.#resolving?.resolver.stop();
    await this.#resolving?.tables[Symbol.asyncDispose]();
    await this.#resolving?.peers.close();
    await this.#sweeper.stop();
    await this.#monitor.stop();
    await this.#database.close();
  }

  /** Settles this stripe's jumped orders. The control database is not waited for: orders never need it. */
  async #startResolving(): Promise<void> {
    const { stripe, routing, limits } = this.#config;
    if (routing === undefined) {
      this.logger.warn("no CONTROL_DB_HOST: this instance settles no jumped orders");
      return;
    }
    const { reader, writer } = this.#database;
    const times = { pollMs: limits.routingPollMs, timeoutMs: limits.controlTimeoutMs };
    const tables = new TableSource({ ...routing, ...times, waitForSchema: true }, this.logger, () => undefined);
    const peerLimits = {
      connectionsMax: limits.resolverParallelMax,
      timeoutMs: limits.peerTimeoutMs,
      retryMs: limits.peerRetryMs,
    };
    const peers = new Peers(peerLimits, () => tables.current?.version ?? 0);
    const resolver = new Resolver({
      stripe,
      reader,
      writer,
      tables,
      peers,
      faults: this.#faults,
      pollMs: limits.resolverPollMs,
      batchMax: limits.resolverBatchMax,
      parallelMax: limits.resolverParallelMax,
      deadlineMs: limits.dbDeadlineMs,
      metrics: this.#metrics,
      logger: this.logger,
    });
    this.#resolving = { tables, peers, resolver };
    await tables.start();
    resolver.start();
  }
}
