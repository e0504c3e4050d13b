// Keeps the routing table up to date: polls its version, loads what is newer, keeps the last good copy in memory and on
// disk. With the control database away the last copy serves for as long as needed.
import type { RoutingTable } from "../../core/routing-table.ts";
import { monotonicMs, sleep } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { MysqlTarget } from "../mysql.ts";
import { ControlReader, SchemaFault } from "./control-reader.ts";
import { loadTable, saveTable } from "./table-file.ts";
import { Instances, sameInstances } from "./instances.ts";
import { TableView } from "./table-view.ts";

/** A refresh that others asked for less than this ago is not repeated. */
const REFRESH_SPACING_MS = 25;

export interface TableSourceOptions {
  readonly controlDb: MysqlTarget;
  /** Where the last good table is kept on disk; null = nowhere. */
  readonly cacheFile: string | null;
  readonly pollMs: number;
  /** For each statement at the control database. */
  readonly timeoutMs: number;
  /** A control database that this code cannot work with is waited for like one that is away; else `start` throws. */
  readonly waitForSchema?: boolean;
}

export interface TableHealth {
  readonly version: number | null;
  readonly from: "control database" | "disk" | "nowhere";
  /** Milliseconds since the control database last confirmed the table; null = never since the start. */
  readonly confirmedAgeMs: number | null;
}

export class TableSource {
  readonly #options: TableSourceOptions;
  readonly #logger: Logger;
  readonly #reader: ControlReader;
  readonly #stop = new AbortController();
  readonly #onChange: (view: TableView) => void;
  readonly #instances = new Instances();
  /** As the control database has it; the view has an address for each instance. */
  #table: RoutingTable | null = null;
  #view: TableView | null = null;
  #from: TableHealth["from"] = "nowhere";
  #confirmedAtMs: number | null = null;
  #failing = false;
  #refreshing: Promise<boolean> | undefined;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #polling: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: TableSourceOptions, logger: Logger, onChange: (view: TableView) => void) {
    this.#options = options;
    this.#logger = logger;
    this.#onChange = onChange;
    this.#reader = new ControlReader(options.controlDb, options.timeoutMs);
  }

  get current(): TableView | null {
    return this.#view;
  }

  health(): TableHealth {
    return {
      version: this.#view?.version ?? null,
      from: this.#from,
      confirmedAgeMs: this.#confirmedAtMs === null ? null : monotonicMs() - this.#confirmedAtMs,
    };
  }

  /**
   * Loads the disk copy, asks the control database once, and goes on polling. Neither is needed to start.
   * @throws SchemaFault when the control database is there and this code cannot work with it, unless it is waited for
   */
  async start(): Promise<void> {
    const path = this.#options.cacheFile;
    try {
      const saved = path === null ? null : await loadTable(path);
      if (saved !== null) await this.#take(saved, "disk");
    } catch (error) {
      this.#logger.warn({ err: error, path }, "the saved routing table cannot be used");
    }
    try {
      await this.#readOnce();
    } catch (error) {
      if (error instanceof SchemaFault && this.#options.waitForSchema !== true) throw error;
      this.#failed(error);
    }
    this.#polling = this.#poll();
  }

  /**
   * Asks the control database now; callers at the same time share one question.
   * @returns whether it answered (then `current` is what it says)
   */
  refresh(): Promise<boolean> {
    if (this.#refreshing !== undefined) return this.#refreshing;
    if (monotonicMs() - this.#refreshedAtMs < REFRESH_SPACING_MS) return Promise.resolve(!this.#failing);
    this.#refreshing = this.#refreshNow().finally(() => {
      this.#refreshing = undefined;
      this.#refreshedAtMs = monotonicMs();
    });
    return this.#refreshing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    this.#reader.close();
    await this.#saving;
  }

  async #poll(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await sleep(this.#options.pollMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.refresh();
      await this.#lookUpInstances();
    }
  }

  async #refreshNow(): Promise<boolean> {
    try {
      await this.#readOnce();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  async #readOnce(): Promise<void> {
    const newer = await this.#reader.readNewer(this.#view?.version ?? null);
    if (newer !== null) {
      if (this.#view !== null && newer.version < this.#view.version) {
        throw new Error(`the control database has version ${newer.version}, older than ours: ${this.#view.version}`);
      }
      await this.#take(newer, "control database");
      this.#save(newer);
    }
    this.#from = "control database";
    this.#confirmedAtMs = monotonicMs();
    if (this.#failing) this.#logger.info("the control database answers again");
    this.#failing = false;
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#logger.warn({ err: error }, "the routing table cannot be refreshed; the last one serves");
    this.#failing = true;
  }

  async #take(table: RoutingTable, from: TableHealth["from"]): Promise<void> {
    this.#view = new TableView(await this.#instances.expanded(table));
    this.#table = table;
    this.#from = from;
    this.#logger.info({ routing_version: table.version, stripes: table.stripes.length, from }, "routing table loaded");
    this.#onChange(this.#view);
  }

  /** Instances come and go without a new version of the table. */
  async #lookUpInstances(): Promise<void> {
    const [table, before] = [this.#table, this.#view];
    if (table === null) return;
    const now = await this.#instances.expanded(table);
    if (this.#view !== before || before === null || now === before.table || sameInstances(now, before.table)) return;
    this.#view = new TableView(now);
    this.#onChange(this.#view);
  }

  #save(table: RoutingTable): void {
    const { cacheFile } = this.#options;
    if (cacheFile === null) return;
    this.#saving = this.#saving
      .then(() => saveTable(cacheFile, table))
      .catch((error: unknown) => this.#logger.error({ err: error }, "the routing table cannot be saved to disk"));
  }
}
