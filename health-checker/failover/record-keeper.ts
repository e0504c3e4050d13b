// The leader's hold on a triple: the lease by the monotonic clock, the record as last confirmed, and the compare-and-set
// whose lost answer is settled by reading the row behind every statement already sent.
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { casRecord } from "../db/cas-record.ts";
import { type ControlDb, ControlDbUnavailable } from "../db/control-db.ts";
import { insertRecord } from "../db/insert-record.ts";
import { acquireLease, releaseLease, renewLease } from "../db/lease.ts";
import { lockRecord, readRecord } from "../db/read-record.ts";
import type { NewRecovery } from "../db/tables.ts";
import { applyChange, type RecordChange, type TripleRecord } from "./record.ts";
import { CAS_SETTLE_MS, CONTROL_DB_DEADLINE_MS, LEASE_MARGIN_MS, LEASE_RENEW_MS, LEASE_TTL_MS } from "./thresholds.ts";

const CAS_RETRY_MS = 50;

/** The record is not what the caller took it for: another controller leads, or another recovery has begun. */
export class RecordMoved extends Error {
  override readonly name = "RecordMoved";
}

export class RecordKeeper {
  readonly tripleId: string;
  readonly owner: string;
  readonly #db: ControlDb;
  readonly #logger: Logger;
  #record: TripleRecord | null = null;
  /** Monotonic time until which the lease may be used. */
  #usableUntilMs = -Infinity;
  #lastRenewedMs = -Infinity;
  #renewing: Promise<void> | null = null;
  #changedMs = -Infinity;
  #timesTaken = 0;

  constructor(db: ControlDb, tripleId: string, owner: string, logger: Logger) {
    this.#db = db;
    this.tripleId = tripleId;
    this.owner = owner;
    this.#logger = logger;
  }

  /** As last read or confirmed; only a leader's is certain. */
  get record(): TripleRecord | null {
    return this.#record;
  }

  /** Monotonic time of the last change that this process made to the record. */
  get changedMs(): number {
    return this.#changedMs;
  }

  /** Whether this process may act for the triple now. */
  get leads(): boolean {
    return this.#record?.owner === this.owner && monotonicMs() < this.#usableUntilMs;
  }

  /**
   * Attempts to take the lead from nobody or from somebody else, lost answers included. Somebody else may have led before
   * each: what was known before the last one is history.
   */
  get timesTaken(): number {
    return this.#timesTaken;
  }

  /**
   * Reads the record and takes the lead when nobody has it. @returns whether this process leads
   * @throws ControlDbUnavailable
   */
  async standBy(): Promise<boolean> {
    const beganMs = monotonicMs();
    const stored = await this.#db.run(CONTROL_DB_DEADLINE_MS, async (sql) => {
      const seen = await readRecord(sql, this.tripleId);
      if (seen === null || (seen.leased && seen.record.owner !== this.owner)) return seen;
      const held = seen.record.owner === this.owner;
      if (!held) this.#timesTaken += 1;
      const mine = held
        ? await renewLease(sql, this.tripleId, this.owner, LEASE_TTL_MS)
        : await acquireLease(sql, this.tripleId, this.owner, LEASE_TTL_MS);
      return mine ? lockRecord(sql, this.tripleId) : seen;
    });
    this.#record = stored?.record ?? null;
    if (this.#record?.owner === this.owner) this.#granted(beganMs);
    return this.leads;
  }

  /** Makes the row of a triple that has none. @returns whether this process made it, and so leads */
  async create(record: TripleRecord): Promise<boolean> {
    const beganMs = monotonicMs();
    const made = await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) => insertRecord(sql, record, LEASE_TTL_MS));
    if (!made) return false;
    this.#record = record;
    this.#granted(beganMs);
    return true;
  }

  /** Renews in the background when it is time to; what it finds shows in `leads`. */
  renewWhenDue(): void {
    if (this.#renewing !== null || monotonicMs() - this.#lastRenewedMs < LEASE_RENEW_MS) return;
    this.#lastRenewedMs = monotonicMs();
    this.#renewing = this.#renew().finally(() => {
      this.#renewing = null;
    });
  }

  async #renew(): Promise<void> {
    const beganMs = monotonicMs();
    try {
      const mine = await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) =>
        renewLease(sql, this.tripleId, this.owner, LEASE_TTL_MS),
      );
      if (mine) this.#granted(beganMs);
      else this.#usableUntilMs = -Infinity;
    } catch (error) {
      this.#logger.warn({ err: (error as Error).message }, "the lease could not be renewed");
    }
  }

  /** Stops trusting what is in memory: the next `standBy` reads the record again. */
  distrust(): void {
    this.#usableUntilMs = -Infinity;
  }

  async release(): Promise<void> {
    await this.#renewing;
    if (this.#record?.owner !== this.owner) return;
    this.#usableUntilMs = -Infinity;
    await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) => releaseLease(sql, this.tripleId, this.owner));
  }

  #granted(beganMs: number): void {
    this.#usableUntilMs = beganMs + LEASE_TTL_MS - LEASE_MARGIN_MS;
    this.#lastRenewedMs = monotonicMs();
  }

  /**
   * Changes the record if it is still `expected`. An answer that got lost is not taken for a success: the row is read
   * with a lock, and the change is repeated or found done.
   * @param begins the recovery that this change begins, written in the same transaction
   * @returns the record after the change
   * @throws RecordMoved when somebody else changed it; ControlDbUnavailable when it is not settled in time
   */
  async cas(expected: TripleRecord, change: RecordChange, begins: NewRecovery | null): Promise<TripleRecord> {
    const next = applyChange(expected, change);
    const deadline = new Deadline(CAS_SETTLE_MS);
    for (;;) {
      try {
        const done = await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) => casRecord(sql, expected, change, begins));
        if (done) return this.#confirmed(next);
        throw new RecordMoved(`the record of ${this.tripleId} is not at version ${expected.version} any more`);
      } catch (error) {
        if (!(error instanceof ControlDbUnavailable)) throw error;
        if (deadline.passed) throw error;
        this.#logger.warn({ err: error.message }, "the answer to a compare-and-set was lost; reading the row");
        if (await this.#foundDone(expected, next, deadline)) return this.#confirmed(next);
      }
    }
  }

  /** After a lost answer: true = done after all, false = not done, and cannot be done later by what was sent. */
  async #foundDone(expected: TripleRecord, next: TripleRecord, deadline: Deadline): Promise<boolean> {
    for (;;) {
      try {
        const stored = await this.#db.run(CONTROL_DB_DEADLINE_MS, (sql) => lockRecord(sql, this.tripleId));
        if (stored?.record.version === next.version && sameContent(stored.record, next)) return true;
        if (stored?.record.version === expected.version && stored.record.owner === expected.owner) return false;
        throw new RecordMoved(`the record of ${this.tripleId} was changed by another controller`);
      } catch (error) {
        if (!(error instanceof ControlDbUnavailable) || deadline.passed) throw error;
        await sleep(CAS_RETRY_MS);
      }
    }
  }

  #confirmed(next: TripleRecord): TripleRecord {
    this.#changedMs = monotonicMs();
    if (this.#record === null || this.#record.version < next.version) this.#record = next;
    return next;
  }
}

function sameContent(a: TripleRecord, b: TripleRecord): boolean {
  const { epoch, phase, src, tenure, owner } = a;
  const same = epoch === b.epoch && phase === b.phase && src === b.src && tenure === b.tenure && owner === b.owner;
  return same && a.ackSet.join() === b.ackSet.join();
}
