// Writers that keep a ledger of what they were told: acknowledged, refused, or unknown. They go through HAProxy with
// ordinary client sessions, as the stripe service does.
import mysql from "mysql2/promise";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const CONNECT_TIMEOUT_MS = 1_000;
const RETRY_MS = 10;
/** MySQL says for certain that the write was not made: read-only, or no server behind HAProxy. */
const REFUSALS: ReadonlySet<number> = new Set([1290, 1836, 1205, 1213]);

export class LedgerLoad {
  readonly acked = new Set<number>();
  readonly unknown = new Set<number>();
  readonly refused = new Set<number>();
  readonly #target: mysql.ConnectionOptions;
  readonly #table: string;
  readonly #workers: Promise<void>[] = [];
  readonly #answerTimeoutMs: number;
  #stopped = false;
  readonly #nextId: () => number;
  #lastAckMs = monotonicMs();
  #longestGapMs = 0;

  /** @param answerTimeoutMs after which a writer gives a write up as unknown */
  constructor(target: mysql.ConnectionOptions, table: string, nextId: () => number, answerTimeoutMs = 3_000) {
    this.#nextId = nextId;
    this.#target = target;
    this.#table = table;
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  start(writers = 4): this {
    this.#lastAckMs = monotonicMs();
    for (let writer = 1; writer <= writers; writer++) this.#workers.push(this.#work(writer));
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }

  /** Longest time without any acknowledgement since the last call, in milliseconds. */
  takeLongestGapMs(): number {
    const gapMs = Math.max(this.#longestGapMs, monotonicMs() - this.#lastAckMs);
    this.#longestGapMs = 0;
    return Math.round(gapMs);
  }

  async #work(writer: number): Promise<void> {
    let connection: mysql.Connection | null = null;
    while (!this.#stopped) {
      try {
        connection ??= await this.#connect();
      } catch {
        await sleep(RETRY_MS);
        continue;
      }
      const id = this.#nextId();
      try {
        const sql = `INSERT INTO ${this.#table} VALUES (?, ?)`;
        await connection.query({ sql, values: [id, writer], timeout: this.#answerTimeoutMs });
        this.#ack(id);
      } catch (error) {
        (wasNotWritten(error) ? this.refused : this.unknown).add(id);
        connection.destroy();
        connection = null;
        await sleep(RETRY_MS);
      }
    }
    connection?.destroy();
  }

  async #connect(): Promise<mysql.Connection> {
    const connection = await mysql.createConnection({ ...this.#target, connectTimeout: CONNECT_TIMEOUT_MS });
    connection.on("error", () => {}); // the next query on it fails
    return connection;
  }

  #ack(id: number): void {
    const nowMs = monotonicMs();
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastAckMs);
    this.#lastAckMs = nowMs;
    this.acked.add(id);
  }
}

/** MySQL or the driver says for certain that nothing was written. */
function wasNotWritten(error: unknown): boolean {
  const { errno = 0, message = "" } = error as { errno?: number; message?: string };
  return REFUSALS.has(errno) || message.includes("closed state");
}
