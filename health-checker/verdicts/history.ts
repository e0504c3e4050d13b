// Carries changes of verdicts into the control database. Never in the way of probing: with the database away the newest
// changes wait, as many as fit, and the rest is counted as lost.
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { ControlDb } from "../db/control-db.ts";
import { insertVerdictChanges, purgeVerdictChanges, type VerdictChange } from "../db/verdict-changes.ts";

/** Changes that wait for the control database at most. */
export const WAITING_MAX = 500;
/** Changes kept in the control database. */
export const KEPT_MAX = 20_000;
const PURGE_MAX = 2_000;
const WRITE_MAX = 100;
const DEADLINE_MS = 1_000;
const RETRY_MS = 1_000;
const IDLE_MS = 250;

type Waiting = Omit<VerdictChange, "ageMs"> & { readonly atMs: number };

export class VerdictHistory {
  readonly #db: ControlDb;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #waiting: Waiting[] = [];
  #lost = 0;
  #failing = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(db: ControlDb, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  add(change: Omit<VerdictChange, "ageMs">): void {
    this.#waiting.push({ ...change, atMs: monotonicMs() });
    if (this.#waiting.length <= WAITING_MAX) return;
    this.#lost += this.#waiting.length - WAITING_MAX;
    this.#waiting = this.#waiting.slice(-WAITING_MAX);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    if (this.#waiting.length > 0 && !this.#failing) await this.#write();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const idle = this.#waiting.length === 0;
      if (!idle) await this.#write();
      await sleep(this.#failing ? RETRY_MS : IDLE_MS, signal);
    }
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.slice(0, WRITE_MAX);
    const changes = batch.map(({ atMs, ...change }) => ({ ...change, ageMs: monotonicMs() - atMs }));
    try {
      await this.#db.run(DEADLINE_MS, async (sql) => {
        await insertVerdictChanges(sql, changes);
        await purgeVerdictChanges(sql, KEPT_MAX, PURGE_MAX);
      });
      const written = new Set(batch);
      this.#waiting = this.#waiting.filter((change) => !written.has(change));
      if (this.#lost > 0) this.#logger.warn({ lost: this.#lost }, "verdict changes were not kept");
      this.#lost = 0;
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        this.#logger.warn({ err: (error as Error).message }, "verdict changes wait for the control database");
      this.#failing = true;
    }
  }
}
