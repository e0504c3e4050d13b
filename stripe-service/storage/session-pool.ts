// Connections of one kind to one port. The gate in front bounds who may ask for one; the driver's pool keeps them. A
// session is checked and set up once, when it is made.
import { DomainError } from "../../core/errors.ts";
import type { Deadline } from "../../runtime/clock.ts";
import { createPool, type MysqlTarget, type Pool, type PoolConnection } from "../../runtime/mysql.ts";
import { readServerIsOpen, setUpSession } from "../db/session-sql.ts";
import { bounded, TimedOut } from "./bounded.ts";
import { Gate } from "./gate.ts";
import { faultOf, overloaded, readOnly, StorageError, unavailable } from "./mysql-faults.ts";

export interface SessionPoolOptions {
  readonly target: MysqlTarget;
  readonly connectionsMax: number;
  readonly queueMax: number;
  /** A caller waits at most this long for its turn, and never beyond its deadline. */
  readonly queueWaitMs: number;
  readonly connectTimeoutMs: number;
  readonly autocommit: boolean;
  readonly lockWaitS: number;
  /** Refuse servers that are not open under their epoch (the writer port's sessions). */
  readonly openServersOnly: boolean;
  /** Several statements may be sent at once. */
  readonly scripts?: boolean;
}

/** A borrowed connection; exactly one of `release` and `destroy` ends the loan. */
export interface Session {
  readonly db: PoolConnection;
  release(): void;
  /** Drops the connection without a word to the server: it may hang, and its state is not known. */
  destroy(): void;
}

export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #pool: Pool;
  readonly #gate: Gate;
  readonly #prepared = new WeakSet<object>();

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    this.#pool = createPool(options.target, {
      connectionsMax: options.connectionsMax,
      // The gate lets no more in than there are connections; only connections still being made can fill this queue.
      queueMax: options.connectionsMax,
      connectTimeoutMs: options.connectTimeoutMs,
      scripts: options.scripts === true,
    });
    this.#gate = new Gate(options.connectionsMax, options.queueMax);
  }

  get inUse(): number {
    return this.#gate.inside;
  }

  get waiting(): number {
    return this.#gate.waiting;
  }

  /**
   * @param queueWaitMs how long to wait for a turn at most; the pool's own limit by default
   * @throws DomainError OVERLOADED, STRIPE_UNAVAILABLE, STRIPE_READ_ONLY; in each case nothing was sent
   */
  async take(deadline: Deadline, queueWaitMs = this.#options.queueWaitMs): Promise<Session> {
    await this.#gate.enter(Math.min(queueWaitMs, deadline.remainingMs()));
    let session: Session | undefined;
    try {
      session = await this.#connect(deadline);
      await this.#prepare(session, deadline);
      return session;
    } catch (error) {
      if (session === undefined) this.#gate.leave();
      else session.destroy();
      throw refusal(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #connect(deadline: Deadline): Promise<Session> {
    const connecting = this.#pool.getConnection();
    const db = await bounded(connecting, deadline.remainingMs(), (late) => destroyConnection(late));
    let ended = false;
    const end = (how: () => void): void => {
      if (ended) return;
      ended = true;
      how();
      this.#gate.leave();
    };
    return {
      db,
      release: () => end(() => db.release()),
      destroy: () => end(() => destroyConnection(db)),
    };
  }

  async #prepare(session: Session, deadline: Deadline): Promise<void> {
    // getConnection wraps the same connection anew each time.
    const { connection } = session.db;
    if (this.#prepared.has(connection)) return;
    const { autocommit, lockWaitS, openServersOnly } = this.#options;
    const setUp = async (): Promise<void> => {
      await setUpSession(session.db, autocommit, lockWaitS);
      if (openServersOnly && !(await readServerIsOpen(session.db))) throw readOnly();
    };
    await bounded(setUp(), deadline.remainingMs());
    this.#prepared.add(connection);
  }
}

function destroyConnection(db: PoolConnection): void {
  db.destroy();
  // The driver only says good-bye; a server that hangs would keep the socket.
  const { stream } = db.connection as unknown as { stream?: { destroy(): void } };
  stream?.destroy();
}

function refusal(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof TimedOut) return unavailable("the stripe's database did not answer in time");
  switch (faultOf(error)) {
    case "full":
      return overloaded("the stripe's database takes no more connections");
    case "read-only":
      return readOnly();
    case "lost":
    case "contended":
    case "other":
      // For people, without the driver's text: an account, a grant or the schema may be missing.
      return Object.assign(unavailable("the stripe's database cannot be reached"), { cause: new StorageError(error) });
  }
}
