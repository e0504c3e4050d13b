// The verdict half of a health checker: its copy of the routing table, its probes, their history, its HTTP.
import type { Express, Request, Response } from "express";
import type { Registry } from "prom-client";
import { VERDICTS_PATH, type WireVerdictReport } from "../../core/schemas/wire-verdicts.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { MysqlTarget } from "../../runtime/mysql.ts";
import { TableSource } from "../../runtime/routing/table-source.ts";
import { ControlDb } from "../db/control-db.ts";
import { readVerdictChanges } from "../db/verdict-changes.ts";
import { VerdictBoard } from "./board.ts";
import { VerdictHistory } from "./history.ts";
import { createVerdictMetrics } from "./metrics.ts";

const ROUTING_POLL_MS = 1_000;
const ROUTING_TIMEOUT_MS = 1_000;
const HISTORY_DEADLINE_MS = 1_000;
export const HISTORY_PAGE_MAX = 200;

export interface VerdictOptions {
  readonly checker: string;
  readonly control: MysqlTarget;
  /** Where the last good routing table is kept, so that probing goes on without the control database; null = nowhere. */
  readonly routingCacheFile: string | null;
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
}

export class Verdicts {
  readonly #checker: string;
  readonly #db: ControlDb;
  readonly #tables: TableSource;
  readonly #history: VerdictHistory;
  readonly #board: VerdictBoard;

  constructor(options: VerdictOptions, registry: Registry, logger: Logger) {
    this.#checker = options.checker;
    // Connections of its own: a failover must not queue up behind the history.
    this.#db = new ControlDb(options.control);
    const tableOptions = {
      controlDb: options.control,
      cacheFile: options.routingCacheFile,
      pollMs: ROUTING_POLL_MS,
      timeoutMs: ROUTING_TIMEOUT_MS,
      waitForSchema: true,
    };
    this.#tables = new TableSource(tableOptions, logger, () => undefined);
    this.#history = new VerdictHistory(this.#db, logger);
    const metrics = createVerdictMetrics(registry);
    this.#board = new VerdictBoard(options, { tables: this.#tables, history: this.#history, metrics, logger });
  }

  /** `GET /verdicts?history=N`: what this checker says; with N the newest changes of all checkers. */
  addRoutes(app: Express): void {
    app.get(VERDICTS_PATH, async (req: Request, res: Response) => {
      const report: WireVerdictReport = { checker: this.#checker, stripes: this.#board.verdicts() };
      const wanted = Math.min(HISTORY_PAGE_MAX, Math.floor(Number(req.query.history ?? 0)));
      if (!(wanted > 0)) return void res.json(report);
      try {
        const changes = await this.#db.run(HISTORY_DEADLINE_MS, (sql) => readVerdictChanges(sql, wanted));
        res.json({ ...report, changes });
      } catch {
        res.status(503).json({ ...report, error: "the history is in the control database, which does not answer" });
      }
    });
  }

  async start(): Promise<void> {
    await this.#tables.start();
    this.#history.start();
    this.#board.start();
  }

  async stop(): Promise<void> {
    await this.#board.stop();
    await this.#history.stop();
    await this.#tables[Symbol.asyncDispose]();
    await this.#db.close();
  }
}
