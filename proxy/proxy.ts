import type { Server } from "node:http";
import type { Registry } from "prom-client";
import { closeServer, listen, type Readiness } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/logger.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Service } from "../runtime/shutdown.ts";
import type { ProxyConfig } from "./config.ts";
import type { ProxyContext } from "./context.ts";
import { VerdictSource, type VerdictSourceOptions } from "./health/verdict-source.ts";
import { proxyApp } from "./http/app.ts";
import { Intake } from "./http/handler.ts";
import { hotEdge } from "./http/hot-edge.ts";
import { answerMalformedRequests } from "../runtime/edge/malformed.ts";
import { observeState, ProxyMetrics } from "./metrics.ts";
import { CoalescedCreates } from "./orders/coalesce.ts";
import { Readmission } from "./orders/readmission.ts";
import { TableSource, type TableSourceOptions } from "../runtime/routing/table-source.ts";
import { Fleet } from "./upstream/fleet.ts";

/** Of the requests in flight, the part that one merchant may have joined to creates of its own. */
const JOINED_SHARE = 1 / 8;

/** The entry service. It holds no state that another instance would need: the routing table is a copy. */
export class Proxy implements Service {
  readonly #config: ProxyConfig;
  readonly #registry: Registry;
  readonly #context: ProxyContext;
  #server: Server | undefined;
  #stopping = false;

  private constructor(config: ProxyConfig, registry: Registry, context: ProxyContext) {
    this.#config = config;
    this.#registry = registry;
    this.#context = context;
  }

  static create(config: ProxyConfig, logger: Logger): Proxy {
    const registry = createMetrics("proxy");
    const fleet = new Fleet(config.limits);
    const tables = new TableSource(tableSourceOptions(config), logger, (view) => fleet.update(view));
    const verdicts = new VerdictSource(verdictOptions(config), logger);
    observeState(registry, { fleet, tables, verdicts });
    const metrics = new ProxyMetrics(registry);
    const creates = new CoalescedCreates(Math.ceil(config.limits.requestsInFlightMax * JOINED_SHARE));
    const { limits } = config;
    const readmission = new Readmission(fleet, tables, limits);
    const context = { limits, tables, fleet, verdicts, creates, readmission, metrics, logger };
    return new Proxy(config, registry, context);
  }

  /** Port that the proxy listens on; 0 before the start. */
  get port(): number {
    const address = this.#server?.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async start(): Promise<void> {
    const { tables, verdicts, logger } = this.#context;
    await tables.start();
    verdicts.start();
    const intake = new Intake(this.#config.limits.requestsInFlightMax);
    const app = proxyApp(this.#context, intake, this.#registry, () => this.#readiness());
    const { host, port, limits } = this.#config;
    this.#server = await listen(hotEdge(this.#context, intake, app), host, port, limits.requestArrivalMs);
    answerMalformedRequests(this.#server);
    // A request without Host is answered like any other fault or request, not by Node's bare 400.
    (this.#server as Server & { requireHostHeader: boolean }).requireHostHeader = false;
    this.#server.on("checkExpectation", app);
    logger.info({ host, port: this.port }, "proxy listens");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    if (this.#server !== undefined) await closeServer(this.#server);
    await this.#context.verdicts[Symbol.asyncDispose]();
    await this.#context.tables[Symbol.asyncDispose]();
    await this.#context.fleet.close();
  }

  #readiness(): Readiness {
    const { version, from, confirmedAgeMs } = this.#context.tables.health();
    const detail = {
      routing_version: version,
      routing_table_from: from,
      routing_table_age_ms: confirmedAgeMs === null ? null : Math.round(confirmedAgeMs),
      health_checkers: this.#context.verdicts.checkers,
    };
    return { ready: version !== null && !this.#stopping, detail };
  }
}

function verdictOptions({ checkerUrls: urls, limits }: ProxyConfig): VerdictSourceOptions {
  const { verdictPollMs: pollMs, verdictTimeoutMs: timeoutMs, verdictKeepMs: keepMs } = limits;
  return { urls, pollMs, timeoutMs, keepMs };
}

function tableSourceOptions({ controlDb, routingCacheFile, limits }: ProxyConfig): TableSourceOptions {
  return { controlDb, cacheFile: routingCacheFile, pollMs: limits.routingPollMs, timeoutMs: limits.controlTimeoutMs };
}
