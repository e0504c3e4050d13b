// Runs write transactions. Each begins with the fence read, is bounded by a deadline, and ends in one of three ways
// that the caller is told apart: done; certainly not written; unknown, because COMMIT was sent and not answered.
import { randomInt } from "node:crypto";
import { DomainError } from "../../core/errors.ts";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import { type FenceLock, readFence, readFenceAnd } from "../db/read-fence.ts";
import { RefusedBeforeCommit, writeAndCommit, type WriteStatement } from "../db/script.ts";
import { rollback } from "../db/session-sql.ts";
import {
  mayBeReplaced,
  type Outcome,
  type PlaceIdentity,
  requirePartition,
  servingFence,
  TransactionRetry,
  Tx,
} from "../orders/tx.ts";
import { bounded, TimedOut } from "./bounded.ts";
import type { Breaker, Permit } from "./breaker.ts";
import { faultOf, isDriverError, notDurable, overloaded, readOnly, StorageError, unavailable } from "./mysql-faults.ts";
import type { Session, SessionPool } from "./session-pool.ts";

export interface WriterLimits {
  /** Tries of one transaction that meets deadlocks, lock waits or a lost session before its COMMIT. */
  readonly triesMax: number;
  readonly retryPauseMaxMs: number;
  /** With less than this left COMMIT is not sent: a certain refusal is better than an unknown outcome. */
  readonly commitReserveMs: number;
  /** While the oldest COMMIT has waited longer than this, only single tries are let through. */
  readonly commitStuckMs: number;
  readonly rollbackMaxMs: number;
}

export interface FenceRequest {
  /** Buckets whose role the transaction depends on. */
  readonly buckets?: readonly number[];
  readonly lock?: FenceLock;
  /** The partition that the caller takes the stripe to be in. */
  readonly partition?: string | undefined;
}

export interface RunOptions {
  /** Sessions to use instead of the writer's own. */
  readonly pool?: SessionPool;
  /** The use case itself sees to answers that rest on reads alone, at a source that may have been replaced. */
  readonly mindsReplacement?: boolean;
  /** Of a transaction of several operations: see the batch folder. */
  readonly batch?: {
    /** Called right before COMMIT is sent. @throws TransactionRetry to have everything rolled back and run again */
    readonly beforeCommit: () => void;
    /** A statement to send together with the fence read; asked for once a try. Its result is for the use case. */
    readonly ahead: () => string | undefined;
  };
}

/** What a transaction does once its fence was read. @param ahead the result of the statement sent along with it */
export type UseCase<T> = (tx: Tx, ahead: unknown) => Promise<Outcome<T>>;

/** A batch was rolled back because of something that may be the fault of one of its operations. */
export class BatchBroken extends Error {}

/** Thrown inside a try: COMMIT was sent, its outcome is unknown. */
class CommitUnknown extends Error {}

interface Verdict {
  readonly retry: boolean;
  /** The server did not answer. */
  readonly hung: boolean;
  /** The server answered, with a refusal. */
  readonly answered?: boolean;
  /** May be the fault of one statement: contention, or an error that is no state of the server. */
  readonly ofStatement?: boolean;
  readonly error: unknown;
}

export class Writer {
  readonly #pool: SessionPool;
  readonly #breaker: Breaker;
  readonly #identity: PlaceIdentity;
  readonly #limits: WriterLimits;
  /** Starts of the COMMITs in flight, oldest first. */
  readonly #commits = new Map<symbol, number>();
  #lastCommitMs = Number.NEGATIVE_INFINITY;
  #retries = 0;

  constructor(pool: SessionPool, breaker: Breaker, identity: PlaceIdentity, limits: WriterLimits) {
    this.#pool = pool;
    this.#breaker = breaker;
    this.#identity = identity;
    this.#limits = limits;
  }

  get commitsInFlight(): number {
    return this.#commits.size;
  }

  /** Tries that were given up and made again, since the start. */
  get retries(): number {
    return this.#retries;
  }

  /**
   * Runs a use case in a transaction of its own and commits what it wrote, a recorded refusal too.
   * @throws DomainError of the fence; STRIPE_UNAVAILABLE, STRIPE_READ_ONLY, OVERLOADED (nothing was written);
   * NOT_DURABLE (unknown); BatchBroken, for a batch only (nothing was written)
   */
  async run<T>(
    deadline: Deadline,
    request: FenceRequest,
    useCase: UseCase<T>,
    options: RunOptions = {},
  ): Promise<Outcome<T>> {
    const { pool = this.#pool, batch } = options;
    for (let tries = 1; ; ) {
      const permit = this.#breaker.ask(this.#commitIsStuck());
      if (permit === "refused") throw unavailable("the stripe's database does not answer; nothing was written");
      try {
        // A trial does not queue: behind stuck sessions it would learn nothing and only wait.
        const session = await pool.take(deadline, permit === "trial" ? 0 : undefined);
        const outcome = await this.#try(session, deadline, request, useCase, options);
        this.#breaker.ended(permit, "succeeded");
        return outcome;
      } catch (error) {
        const verdict = judge(error);
        this.#breaker.ended(permit, verdict.hung ? "failed" : verdict.answered ? "succeeded" : "undecided");
        if (batch !== undefined && verdict.ofStatement === true) throw new BatchBroken("rolled back", { cause: error });
        // A batch that begins again has become smaller or asks for less: that ends by itself, and is no contention.
        const smaller = error instanceof TransactionRetry;
        if (!verdict.retry || (!smaller && tries >= this.#limits.triesMax) || deadline.passed) throw verdict.error;
        if (!smaller) tries += 1;
        this.#retries += 1;
        await sleep(Math.min(deadline.remainingMs(), 1 + randomInt(this.#limits.retryPauseMaxMs * tries)));
      }
    }
  }

  /** Whether a write may be tried now: `trial` if one caller may find out whether the server answers again. */
  get condition(): Permit {
    return this.#breaker.peek(this.#commitIsStuck());
  }

  /** A COMMIT waits, and none has come back since it was sent: no replica acknowledges, or the server hangs. */
  #commitIsStuck(): boolean {
    const [oldest] = this.#commits.values();
    if (oldest === undefined) return false;
    return monotonicMs() - oldest > this.#limits.commitStuckMs && this.#lastCommitMs < oldest;
  }

  async #try<T>(
    session: Session,
    deadline: Deadline,
    request: FenceRequest,
    useCase: UseCase<T>,
    { batch, mindsReplacement = false }: RunOptions,
  ): Promise<Outcome<T>> {
    try {
      const work = this.#statements(session, request, useCase, batch?.ahead());
      const { tx, outcome } = await bounded(work, deadline.remainingMs());
      if (!tx.written) {
        if (!mindsReplacement && !tx.leads) throw mayBeReplaced();
        void this.#rollBack(session); // nothing to wait for: nothing was written
        return outcome;
      }
      if (deadline.remainingMs() < this.#limits.commitReserveMs) throw overloaded("too late to commit in time");
      batch?.beforeCommit();
      await this.#commit(session, deadline, tx.atCommit);
      session.release();
      return outcome;
    } catch (error) {
      if (mayKeep(error)) await this.#rollBack(session);
      else session.destroy();
      throw error;
    }
  }

  async #statements<T>(
    { db }: Session,
    { buckets = [], lock = "SHARE", partition }: FenceRequest,
    useCase: UseCase<T>,
    ahead: string | undefined,
  ): Promise<{ tx: Tx; outcome: Outcome<T> }> {
    const { rows, next } =
      ahead === undefined
        ? { rows: await readFence(db, buckets, lock), next: undefined }
        : await readFenceAnd(db, buckets, lock, ahead);
    const fence = servingFence(rows, this.#identity);
    requirePartition(fence, partition);
    const tx = new Tx(db, fence);
    return { tx, outcome: await useCase(tx, next) };
  }

  /** Sends COMMIT, with what was left for this moment before it. */
  async #commit({ db }: Session, deadline: Deadline, statements: readonly WriteStatement[]): Promise<void> {
    const id = Symbol("commit");
    this.#commits.set(id, monotonicMs());
    try {
      await bounded(writeAndCommit(db, statements), deadline.remainingMs());
      this.#lastCommitMs = monotonicMs();
    } catch (error) {
      if (error instanceof RefusedBeforeCommit) throw error.cause;
      // The server said no: it has not committed. Anything else may have come after it did.
      throw faultOf(error) === "read-only" || faultOf(error) === "contended"
        ? error
        : new CommitUnknown("no answer to COMMIT", { cause: error });
    } finally {
      this.#commits.delete(id);
    }
  }

  /** Ends a transaction that wrote nothing that shall stay, and gives the session back if it can still be used. */
  async #rollBack(session: Session): Promise<void> {
    try {
      await bounded(rollback(session.db), this.#limits.rollbackMaxMs);
      session.release();
    } catch {
      session.destroy();
    }
  }
}

/** Whether the session's state is known after this error. */
function mayKeep(error: unknown): boolean {
  if (error instanceof DomainError) return error.code !== "STRIPE_READ_ONLY";
  if (error instanceof TransactionRetry) return true;
  if (error instanceof TimedOut || error instanceof CommitUnknown) return false;
  const fault = isDriverError(error) ? faultOf(error) : "other";
  return fault === "contended";
}

/** What a failed try means for the caller, for another try, and for the breaker. */
function judge(error: unknown): Verdict {
  if (error instanceof DomainError) {
    return { retry: false, hung: error.code === "STRIPE_UNAVAILABLE", answered: error.code === "MISDIRECTED", error };
  }
  if (error instanceof CommitUnknown) return { retry: false, hung: true, error: notDurable() };
  if (error instanceof TimedOut) {
    return { retry: false, hung: true, error: unavailable("the database did not answer in time; nothing was written") };
  }
  if (error instanceof TransactionRetry) return { retry: true, hung: false, error: overloaded("too much contention") };
  if (!isDriverError(error)) return { retry: false, hung: false, ofStatement: true, error };
  switch (faultOf(error)) {
    case "contended":
      return {
        retry: true,
        hung: false,
        ofStatement: true,
        error: overloaded("too much contention; nothing was written"),
      };
    case "lost":
      return {
        retry: true,
        hung: true,
        error: unavailable("the database was lost before COMMIT; nothing was written"),
      };
    case "read-only":
      return { retry: false, hung: false, error: readOnly() };
    case "full":
    case "other":
      return { retry: false, hung: false, ofStatement: true, error: new StorageError(error) };
  }
}
