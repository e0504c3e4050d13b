// Connections to the control database: few, each statement with a deadline. A connection whose statement failed or was
// late is not used again, so that a late answer is never taken for the answer to something else.
import { createPool, type MysqlTarget, type Pool, type PoolConnection } from "../../runtime/mysql.ts";

const CONNECTIONS_MAX = 3;
/** Callers that may wait for a connection: each triple renews, changes and audits at most once at a time. */
const QUEUE_MAX = 64;
const CONNECT_TIMEOUT_MS = 1_000;

export type Sql = PoolConnection;

/** The control database did not answer in time: whether the statement was carried out is unknown. */
export class ControlDbUnavailable extends Error {
  override readonly name = "ControlDbUnavailable";
}

export class ControlDb {
  readonly #pool: Pool;

  constructor(target: MysqlTarget) {
    this.#pool = createPool(target, {
      connectionsMax: CONNECTIONS_MAX,
      queueMax: QUEUE_MAX,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  }

  /**
   * Runs `work` on one connection.
   * @param deadlineMs for all of it; the connection is cut when it passes
   * @throws ControlDbUnavailable with the driver's error as its cause
   */
  async run<T>(deadlineMs: number, work: (sql: Sql) => Promise<T>): Promise<T> {
    let late = false;
    let connection: PoolConnection | null = null;
    const timer = setTimeout(() => {
      late = true;
      connection?.destroy();
    }, deadlineMs);
    try {
      connection = await this.#pool.getConnection();
      if (late) throw new Error(`no connection within ${deadlineMs} ms`);
      const result = await work(connection);
      connection.release();
      return result;
    } catch (error) {
      connection?.destroy();
      const what = late ? `no answer within ${deadlineMs} ms` : (error as Error).message;
      throw new ControlDbUnavailable(what, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
