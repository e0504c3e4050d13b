// One MySQL session whose every statement has a time limit. A statement that does not come back in time costs the
// session: its outcome is unknown, and mysqld may still run it when it wakes up (see sweep.ts).
import mysql from "mysql2";

export const SQL_TIMEOUT_MS = 1_500;
export const CONNECT_TIMEOUT_MS = 1_500;

const NOT_RUNNING: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN"]);

export type Row = Record<string, unknown>;

export interface SessionTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** No answer from mysqld: refused, lost, or not in time. The outcome of the statement is unknown. */
export class MysqldDown extends Error {
  override readonly name = "MysqldDown";
  /**
   * Nobody listens, or a container engine knows no running server of that name: mysqld is not running, or not yet.
   * Otherwise it is there and does not answer.
   */
  readonly refused: boolean;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    const code = (cause as { code?: unknown } | undefined)?.code;
    this.refused = typeof code === "string" && NOT_RUNNING.has(code);
  }
}

/** mysqld answered with an error; nothing else is wrong with the session. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly errno: number;

  constructor(errno: number, message: string) {
    super(`${errno}: ${message}`);
    this.errno = errno;
  }
}

export class Session {
  readonly #connection: mysql.Connection;
  readonly #waiting = new Set<(why: string, cause?: unknown) => void>();
  #lost = false;

  private constructor(connection: mysql.Connection) {
    this.#connection = connection;
  }

  /** @throws MysqldDown, SqlError (access denied, too many connections) */
  static async open(target: SessionTarget, timeoutMs = CONNECT_TIMEOUT_MS): Promise<Session> {
    const connection = mysql.createConnection({
      ...target,
      charset: "utf8mb4_bin", // the handshake has one byte for its number; utf8mb4_0900_bin is 309
      supportBigNumbers: true,
      dateStrings: true,
      timezone: "Z",
      multipleStatements: true,
      enableKeepAlive: true,
      maxPreparedStatements: 1, // none is used; the driver would set half a megabyte aside for 16,000
    });
    const session = new Session(connection);
    connection.on("error", (error) => session.destroy(error));
    connection.once("end", () => session.destroy());
    await session.#bounded("connect", timeoutMs, (done) => connection.connect((error) => done(error, [])));
    return session;
  }

  /** This session's number in the process list. */
  get id(): number {
    return (this.#connection as unknown as { threadId: number }).threadId;
  }

  /** True once the connection is unusable: the next statement needs a new, swept session. */
  get lost(): boolean {
    return this.#lost;
  }

  /**
   * One statement of the text protocol; values are escaped by the driver.
   * @throws MysqldDown when no answer came in `timeoutMs` (the session is then lost), SqlError
   */
  async query<T extends Row = Row>(
    sql: string,
    values: readonly unknown[] = [],
    timeoutMs = SQL_TIMEOUT_MS,
  ): Promise<T[]> {
    if (this.#lost) throw new MysqldDown("session lost");
    const rows = await this.#bounded(sql.slice(0, 60), timeoutMs, (done) =>
      this.#connection.query({ sql, values: [...values] }, (error, result) => done(error, result)),
    );
    return (Array.isArray(rows) ? rows : []) as T[];
  }

  /**
   * Several statements in one packet, and one answer: half the work for both sides. @param values for all of them, in order
   * @returns the rows of each
   * @throws as `query`; then those before the one that failed were carried out
   */
  async queryAll(
    statements: readonly string[],
    values: readonly unknown[] = [],
    timeoutMs = SQL_TIMEOUT_MS,
  ): Promise<Row[][]> {
    if (this.#lost) throw new MysqldDown("session lost");
    const sql = statements.join("; ");
    const results = await this.#bounded(sql.slice(0, 60), timeoutMs, (done) =>
      this.#connection.query({ sql, values: [...values] }, (error, result) => done(error, result)),
    );
    const lists = (statements.length === 1 ? [results] : results) as unknown[];
    return lists.map((rows) => (Array.isArray(rows) ? rows : []) as Row[]);
  }

  /** Ends the connection at once; whatever waits on it fails with MysqldDown. */
  destroy(cause?: unknown): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#connection.destroy();
    // A closing packet would sit in the socket of a stopped mysqld; nothing of ours is to be left there.
    (this.#connection as unknown as { stream: { destroy(): void } }).stream.destroy();
    for (const giveUp of this.#waiting) giveUp(cause instanceof Error ? cause.message : "connection lost", cause);
  }

  #bounded(
    what: string,
    timeoutMs: number,
    run: (done: (error: unknown, result: unknown) => void) => void,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(giveUp);
      };
      const giveUp = (why: string, cause?: unknown): void => {
        settle();
        this.destroy();
        reject(new MysqldDown(`${why}: ${what}`, cause));
      };
      const timer = setTimeout(() => giveUp(`no answer within ${timeoutMs} ms`), timeoutMs);
      this.#waiting.add(giveUp);
      run((error, result) => {
        settle();
        if (error) reject(this.#asError(error));
        else resolve(result);
      });
    });
  }

  #asError(error: unknown): Error {
    const { errno, message, fatal } = error as { errno?: number; message: string; fatal?: boolean };
    if (fatal) this.destroy();
    const fromServer = typeof errno === "number" && errno >= 1000 && !(errno >= 2000 && errno < 3000);
    return fromServer ? new SqlError(errno, message) : new MysqldDown(message, error);
  }
}
