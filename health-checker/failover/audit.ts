// Writes what recoveries did, behind their back: a recovery never waits for its audit, and a control database that is
// away delays the audit, not the recovery.
import { sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { ControlDb } from "../db/control-db.ts";
import type { RecoveryEnd, RecoveryStep } from "../db/tables.ts";
import { finishRecovery, insertSteps } from "../db/write-audit.ts";
import { AUDIT_QUEUE_MAX } from "./thresholds.ts";

const BATCH_MAX = 100;
const WRITE_DEADLINE_MS = 2_000;
const RETRY_MS = 500;

type Entry = { readonly step: RecoveryStep } | { readonly end: RecoveryEnd };

export class AuditWriter {
  readonly #db: ControlDb;
  readonly #logger: Logger;
  readonly #queue: Entry[] = [];
  #writing: Promise<void> | null = null;
  #stopped = false;

  constructor(db: ControlDb, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
  }

  step(step: RecoveryStep): void {
    this.#push({ step });
  }

  end(end: RecoveryEnd): void {
    this.#push({ end });
  }

  /** Resolves when everything so far is written, or `timeoutMs` has passed; nothing is written afterwards. */
  async stop(timeoutMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.#writing ?? Promise.resolve(), sleep(timeoutMs, timer.signal)]);
    timer.abort();
    this.#stopped = true;
  }

  #push(entry: Entry): void {
    if (this.#queue.length >= AUDIT_QUEUE_MAX) {
      this.#logger.error({ queueMax: AUDIT_QUEUE_MAX, entry }, "the audit of recoveries is full: this is not written");
      return;
    }
    this.#queue.push(entry);
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = null;
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && !this.#stopped) {
      const batch = this.#queue.slice(0, BATCH_MAX);
      try {
        await this.#db.run(WRITE_DEADLINE_MS, async (sql) => {
          await sql.beginTransaction();
          await insertSteps(
            sql,
            batch.flatMap((entry) => ("step" in entry ? [entry.step] : [])),
          );
          for (const entry of batch) if ("end" in entry) await finishRecovery(sql, entry.end);
          await sql.commit();
        });
        this.#queue.splice(0, batch.length);
      } catch (error) {
        this.#logger.warn({ err: (error as Error).message }, "the audit of recoveries waits for the control database");
        await sleep(RETRY_MS);
      }
    }
  }
}
