// What a use case works with. Use cases know neither HTTP nor connections' lives; several may run in one transaction,
// so that a refusal is a value, never an exception that would undo the others.
import { DomainError } from "../../core/errors.ts";
import type { BucketRole } from "../../core/order-states.ts";
import { LEADS_WITHIN_MS } from "../../core/leading.ts";
import { fromDbTime, type Instant } from "../../core/time.ts";
import type { Db } from "../db/db.ts";
import { insertEvents, insertEventsSql, type NewEvent } from "../db/insert-events.ts";
import type { WriteStatement } from "../db/script.ts";
import type { FenceRow } from "../db/tables.ts";

/** What the stripe's database says that it accepts, read and held at the start of a transaction. */
export interface Fence {
  /** The database's time; the one instant of everything in the transaction. */
  readonly now: Instant;
  readonly acceptsCreates: boolean;
  readonly acceptsWrites: boolean;
  readonly routingVersion: number;
  /** Whose merchants the stripe serves; null = not told yet. */
  readonly partition: string | null;
  /** Age of the newest beat that the server shows, ms; null when it has none. */
  readonly beatAgeMs: number | null;
  /** Roles of the buckets that were asked for; a bucket without a row is not here. */
  readonly buckets: ReadonlyMap<number, BucketRole>;
}

/** A use case's answer: a value, or a refusal that may have been recorded. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: DomainError };

export function done<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function refused<T>(error: DomainError): Outcome<T> {
  return { ok: false, error };
}

/** All is rolled back and run again with fewer operations, or with less sent ahead: not counted among the tries. */
export class TransactionRetry extends Error {}

/** A write transaction whose fence has been read. */
export class Tx {
  readonly db: Db;
  readonly fence: Fence;
  #written = false;
  #atCommit: readonly WriteStatement[] = [];

  constructor(db: Db, fence: Fence) {
    this.db = db;
    this.fence = fence;
  }

  get now(): Instant {
    return this.fence.now;
  }

  /** Whether what this server lacks does not exist: see core/leading.ts. A transaction that commits shows it itself. */
  get leads(): boolean {
    return leads(this.fence);
  }

  /** Whether there is anything to commit. */
  get written(): boolean {
    return this.#written;
  }

  /** Says that something was written that is no part of the stripe's data, and so not journaled: probes. */
  wroteProbe(): void {
    this.#written = true;
  }

  /** Appends to the journal; every change of every aggregate goes through here (rule J). */
  async journal(...events: NewEvent[]): Promise<void> {
    await insertEvents(this.db, this.now, events);
    this.#written = true;
  }

  /** Leaves writing statements for the moment of COMMIT, the journal's last: they share its round trip. */
  writeAtCommit(statements: readonly WriteStatement[], events: readonly NewEvent[]): void {
    if (events.length === 0) {
      if (statements.length > 0) throw new Error("what is written must be journaled");
      return;
    }
    this.#atCommit = [...statements, { sql: insertEventsSql(this.now, events) }];
    this.#written = true;
  }

  /** What is to be written together with COMMIT. */
  get atCommit(): readonly WriteStatement[] {
    return this.#atCommit;
  }
}

export interface PlaceIdentity {
  readonly place: number;
}

export function misdirected(detail: string, routingVersion: number): DomainError {
  return new DomainError("MISDIRECTED", detail, { routingVersion });
}

/**
 * The fence, if this database is the stripe's place.
 * @param rows as `readFence` gives them
 * @param roles the roles under which it serves what is asked (only PLACE takes writes and primary reads)
 * @param mayBeReadOnly a replica is
 * @throws DomainError MISDIRECTED, STRIPE_READ_ONLY, STRIPE_UNAVAILABLE
 */
export function servingFence(
  rows: readonly FenceRow[],
  identity: PlaceIdentity,
  roles: readonly string[] = ["PLACE"],
  mayBeReadOnly = false,
): Fence {
  const [row] = rows;
  if (row === undefined) {
    throw new DomainError("STRIPE_UNAVAILABLE", "the stripe's database has no state or no identity", {
      retryAfterS: 1,
    });
  }
  if (row.place !== identity.place || row.triple_id !== row.identity || !roles.includes(row.role)) {
    throw misdirected(
      `this database is place ${row.place} (${row.role}) of triple ${row.triple_id}, served by ${row.identity}`,
      row.routing_version,
    );
  }
  if (row.read_only !== 0 && !mayBeReadOnly) {
    throw new DomainError("STRIPE_READ_ONLY", "the stripe's source takes no writes now; nothing was written", {
      retryAfterS: 1,
    });
  }
  const buckets = new Map<number, BucketRole>();
  for (const { bucket, bucket_role: role } of rows) if (bucket !== null && role !== null) buckets.set(bucket, role);
  return {
    now: fromDbTime(row.now),
    acceptsCreates: row.accepts_creates !== 0,
    acceptsWrites: row.accepts_writes !== 0,
    routingVersion: row.routing_version,
    partition: row.stripe_partition,
    beatAgeMs: row.beat_age_us === null ? null : Math.max(0, Math.round(row.beat_age_us / 1000)),
    buckets,
  };
}

export function leads({ beatAgeMs }: Fence): boolean {
  return beatAgeMs !== null && beatAgeMs <= LEADS_WITHIN_MS;
}

/** For what rests on reads alone, at a source that may have been replaced without knowing it. */
export function mayBeReplaced(): DomainError {
  return new DomainError(
    "STRIPE_UNAVAILABLE",
    "the stripe's source cannot show that it still leads; nothing was written",
    {
      retryAfterS: 1,
    },
  );
}

/**
 * Whoever believes that the stripe serves another partition has an old table: the roles of its buckets mean nothing to
 * them, as each partition has its own homes.
 * @param asked as the caller says; undefined: it does not depend on it
 */
export function partitionFault(fence: Fence, asked: string | undefined): DomainError | undefined {
  if (asked === undefined || fence.partition === null || fence.partition === asked) return undefined;
  return misdirected(`this stripe serves partition ${fence.partition}`, fence.routingVersion);
}

/** As {@link partitionFault}. @throws DomainError MISDIRECTED */
export function requirePartition(fence: Fence, asked: string | undefined): void {
  const fault = partitionFault(fence, asked);
  if (fault !== undefined) throw fault;
}

/** The refusal of a stripe that takes no writes, or undefined. */
export function writesRefused(tx: Tx): DomainError | undefined {
  if (tx.fence.acceptsWrites) return undefined;
  return misdirected("this stripe accepts no writes here", tx.fence.routingVersion);
}
