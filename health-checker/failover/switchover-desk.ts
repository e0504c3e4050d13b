// Takes the switchovers that operators ask for through rows of the control database, and tells them how they ended.
import { monotonicMs } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { type ControlDb } from "../db/control-db.ts";
import {
  moveSwitchover,
  openSwitchover,
  type SwitchoverRequest,
  type SwitchoverState,
} from "../db/switchover-requests.ts";
import type { TripleRecord } from "./record.ts";
import { CONTROL_DB_DEADLINE_MS } from "./thresholds.ts";

const LOOK_EVERY_MS = 500;

export class SwitchoverDesk {
  readonly #db: ControlDb;
  readonly #tripleId: string;
  readonly #logger: Logger;
  #waiting: SwitchoverRequest | null = null;
  #lookedMs = -Infinity;
  #looking = false;

  constructor(db: ControlDb, tripleId: string, logger: Logger) {
    this.#db = db;
    this.#tripleId = tripleId;
    this.#logger = logger;
  }

  get waiting(): SwitchoverRequest | null {
    return this.#waiting;
  }

  /** Looks for requests in the background. While a recovery runs none is begun, but those that are too old expire. */
  lookWhenDue(record: TripleRecord | null, busy: boolean): void {
    if (record === null || this.#looking || monotonicMs() - this.#lookedMs < LOOK_EVERY_MS) return;
    this.#looking = true;
    this.#lookedMs = monotonicMs();
    this.#look(record.phase === "IDLE" && !busy ? record.src : null)
      .catch((error: unknown) => this.#logger.warn({ err: (error as Error).message }, "cannot look for switchovers"))
      .finally(() => {
        this.#looking = false;
      });
  }

  async #look(src: string | null): Promise<void> {
    this.#waiting = await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) => openSwitchover(sql, this.#tripleId, src));
  }

  /** Takes a request for this process. False when it is not waiting any more. */
  async take(request: SwitchoverRequest): Promise<boolean> {
    this.#waiting = null;
    return this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) =>
      moveSwitchover(sql, request.requestId, "WAITING", "RUNNING", null, null),
    );
  }

  /** Tells how a request ended; a failure to tell is only logged, the next look settles it. */
  async answer(
    request: SwitchoverRequest,
    state: SwitchoverState,
    detail: string | null,
    recoveryId: string | null,
  ): Promise<void> {
    try {
      await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) =>
        moveSwitchover(sql, request.requestId, "RUNNING", state, detail, recoveryId),
      );
    } catch (error) {
      this.#logger.warn({ err: (error as Error).message, state }, "the end of a switchover could not be told");
    }
  }
}
