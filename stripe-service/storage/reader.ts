// Reads outside of transactions, from the source or from a replica.
import { DomainError } from "../../core/errors.ts";
import { Deadline } from "../../runtime/clock.ts";
import type { Db } from "../db/db.ts";
import type { FenceRow } from "../db/tables.ts";
import { type Fence, leads, mayBeReplaced, type PlaceIdentity, servingFence } from "../orders/tx.ts";
import { bounded, TimedOut } from "./bounded.ts";
import type { Breaker, Permit } from "./breaker.ts";
import { faultOf, isDriverError, overloaded, readOnly, StorageError, unavailable } from "./mysql-faults.ts";
import type { SessionPool } from "./session-pool.ts";

export type ReadSource = "primary" | "replica";

/** A read's statement: the fence's columns come with its rows. */
export type Statement<R extends FenceRow> = (db: Db) => Promise<R[]>;

export interface Read<R extends FenceRow> {
  /** `replica`: also a source that may have been replaced. */
  readonly source: ReadSource;
  /** How far what was read is behind at most, ms; not of the primary. */
  readonly lagMs?: number;
  readonly fence: Fence;
  readonly rows: readonly R[];
}

export interface ReaderLimits {
  /** How long the source is waited for before a replica is asked. */
  readonly fallbackMs: number;
  readonly triesMax: number;
}

/** Of a short deadline the source gets this part, so that a replica can still be asked. */
const PRIMARY_SHARE = 0.6;

/** Codes of a source that does not serve now; a replica may be asked instead. */
const AWAY: ReadonlySet<string> = new Set(["STRIPE_UNAVAILABLE", "STRIPE_READ_ONLY", "OVERLOADED"]);

/** Whether a read failed because the database is away, not because it said no. */
export function isAway(error: unknown): boolean {
  return error instanceof DomainError && AWAY.has(error.code);
}

export class Reader {
  readonly #primary: SessionPool;
  readonly #replica: SessionPool;
  readonly #breaker: Breaker;
  readonly #identity: PlaceIdentity;
  readonly #limits: ReaderLimits;

  constructor(
    primary: SessionPool,
    replica: SessionPool,
    breaker: Breaker,
    identity: PlaceIdentity,
    limits: ReaderLimits,
  ) {
    this.#primary = primary;
    this.#replica = replica;
    this.#breaker = breaker;
    this.#identity = identity;
    this.#limits = limits;
  }

  /** Whether the source may be asked now: `trial` if one caller may find out whether it answers again. */
  get condition(): Permit {
    return this.#breaker.peek();
  }

  /**
   * Reads at the source alone: what is missing there does not exist.
   * @throws DomainError as {@link source}; STRIPE_UNAVAILABLE also when the source cannot show that it still leads
   */
  async primary<R extends FenceRow>(deadline: Deadline, statement: Statement<R>): Promise<Read<R>> {
    const read = await this.source(deadline, statement);
    if (read.source !== "primary") throw mayBeReplaced();
    return read;
  }

  /**
   * Reads at the source. One that cannot show that it still leads is told to be a replica: what it has may be old, and
   * what it lacks may exist.
   * @param callers how many wait for this statement: a failure is a failure of each
   * @throws DomainError of the fence, STRIPE_UNAVAILABLE, STRIPE_READ_ONLY, OVERLOADED
   */
  async source<R extends FenceRow>(deadline: Deadline, statement: Statement<R>, callers = 1): Promise<Read<R>> {
    const permit = this.#breaker.ask();
    if (permit === "refused") throw unavailable("the stripe's source does not answer");
    try {
      const rows = await this.#run(this.#primary, deadline, statement);
      const fence = servingFence(rows, this.#identity);
      this.#breaker.ended(permit, "succeeded");
      return leads(fence) ? { source: "primary", fence, rows } : asReplica(fence, rows);
    } catch (error) {
      const away = error instanceof DomainError && error.code === "STRIPE_UNAVAILABLE";
      this.#breaker.ended(permit, away ? "failed" : "undecided");
      if (away) for (let i = 1; i < callers; i++) this.#breaker.ended("normal", "failed");
      throw error;
    }
  }

  /** Reads at a replica alone: what it has may be old, and what it lacks may exist. */
  async replica<R extends FenceRow>(deadline: Deadline, statement: Statement<R>): Promise<Read<R>> {
    const rows = await this.#run(this.#replica, deadline, statement);
    const fence = servingFence(rows, this.#identity, ["PLACE", "LEAVING"], true);
    return asReplica(fence, rows);
  }

  /**
   * Reads at the source, or, when it does not answer within the limit, at a replica. Something found there is shown,
   * marked; something missing there is not known to be missing.
   * @param found whether the rows hold what was asked for
   * @param prefer `replica` asks a replica first, and the source for what the replica lacks
   * @param primary how to read at the source, when not with the statement
   * @throws DomainError as {@link primary}
   */
  async either<R extends FenceRow>(
    deadline: Deadline,
    statement: Statement<R>,
    found: (rows: readonly R[]) => boolean,
    prefer: ReadSource,
    primary: (deadline: Deadline) => Promise<Read<R>> = (until) => this.source(until, statement),
  ): Promise<Read<R>> {
    if (prefer === "replica") {
      const read = await this.replica(deadline, statement).catch(awayOrThrow);
      if (read !== undefined && found(read.rows)) return read;
      const atSource = await primary(deadline);
      if (isKnown(atSource, found)) return atSource;
      throw mayBeReplaced();
    }
    const firstMs = Math.min(this.#limits.fallbackMs, deadline.remainingMs() * PRIMARY_SHARE);
    const failure: { error: unknown } = { error: mayBeReplaced() };
    const read = await primary(new Deadline(firstMs)).catch((error: unknown) => {
      failure.error = error;
      return awayOrThrow(error);
    });
    if (read !== undefined && isKnown(read, found)) return read;
    const fallback = await this.replica(deadline, statement).catch(awayOrThrow);
    if (fallback !== undefined && found(fallback.rows)) return fallback;
    throw failure.error;
  }

  async #run<R extends FenceRow>(pool: SessionPool, deadline: Deadline, statement: Statement<R>): Promise<R[]> {
    for (let tries = 1; ; tries++) {
      const session = await pool.take(deadline);
      try {
        const rows = await bounded(statement(session.db), deadline.remainingMs());
        session.release();
        return rows;
      } catch (error) {
        session.destroy();
        const lost = isDriverError(error) && faultOf(error) === "lost";
        if (!lost || tries >= this.#limits.triesMax || deadline.passed) throw readFailure(error);
      }
    }
  }
}

function asReplica<R extends FenceRow>(fence: Fence, rows: readonly R[]): Read<R> {
  return { source: "replica", lagMs: fence.beatAgeMs ?? 0, fence, rows };
}

/** Whether a read says for certain what there is. */
function isKnown<R extends FenceRow>({ source, rows }: Read<R>, found: (rows: readonly R[]) => boolean): boolean {
  return source === "primary" || found(rows);
}

/** For `catch`: undefined when the database is away, else the error again. */
function awayOrThrow(error: unknown): undefined {
  if (isAway(error)) return undefined;
  throw error;
}

function readFailure(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  if (error instanceof TimedOut) return unavailable("the stripe's database did not answer in time");
  if (!isDriverError(error)) return error;
  switch (faultOf(error)) {
    case "lost":
      return unavailable("the stripe's database was lost while reading");
    case "contended":
    case "full":
      return overloaded("the stripe's database is too busy");
    case "read-only":
      return readOnly();
    case "other":
      return new StorageError(error);
  }
}
