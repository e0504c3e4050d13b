// Writers that keep a ledger of what they were told: acknowledged, refused, or unknown. They go through HAProxy with
// ordinary client sessions, as the stripe service does.
import mysql from "mysql2/promise";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const CONNECT_TIMEOUT_MS = 1_000;
const ANSWER_TIMEOUT_MS = 3_000;
const RETRY_MS = 10;
/** MySQL says for certain that the write was not made: read-only, or no server behind HAProxy. */
const REFUSALS: ReadonlySet<number> = new Set([1290, 1836, 1205, 1213]);

/** An acknowledged write, between when and when by the monotonic clock of this process. */
export interface AckedWrite {
  readonly id: number;
  readonly beganMs: number;
  readonly endedMs: number;
}

export interface LedgerLoadOptions {
  readonly nextId: () => number;
  /** The statement that writes one row. */
  readonly insert: (id: number, writer: number) => string;
  /** After which a writer gives a write up as unknown. */
  readonly answerTimeoutMs?: number;
  /** Between two writes of one writer; none by default. */
  readonly pauseMs?: number;
}

export class LedgerLoad {
  readonly acked = new Set<number>();
  readonly ackedWrites: AckedWrite[] = [];
  readonly unknown = new Set<number>();
  readonly refused = new Set<number>();
  readonly #target: mysql.ConnectionOptions;
  readonly #workers: Promise<void>[] = [];
  readonly #options: LedgerLoadOptions;
  #stopped = false;
  #lastAckMs = monotonicMs();
  #longestGapMs = 0;

  constructor(target: mysql.ConnectionOptions, options: LedgerLoadOptions) {
    this.#target = target;
    this.#options = options;
  }

  start(writers = 4): this {
    this.#lastAckMs = monotonicMs();
    for (let writer = 1; writer <= writers; writer++) this.#workers.push(this.#work(writer));
    return this;
  }

  async stop(): Promise<void> {
    this.giveUp();
    await Promise.all(this.#workers);
  }

  /** No further writes; those under way are not waited for. */
  giveUp(): void {
    this.#stopped = true;
  }

  /** Longest time without any acknowledgement since the last call, in milliseconds. */
  takeLongestGapMs(): number {
    const gapMs = Math.max(this.#longestGapMs, monotonicMs() - this.#lastAckMs);
    this.#longestGapMs = 0;
    return Math.round(gapMs);
  }

  async #work(writer: number): Promise<void> {
    const { nextId, insert, answerTimeoutMs = ANSWER_TIMEOUT_MS, pauseMs = 0 } = this.#options;
    let connection: mysql.Connection | null = null;
    while (!this.#stopped) {
      try {
        connection ??= await this.#connect();
      } catch {
        await sleep(RETRY_MS);
        continue;
      }
      const id = nextId();
      const beganMs = monotonicMs();
      try {
        await connection.query({ sql: insert(id, writer), timeout: answerTimeoutMs });
        this.#ack({ id, beganMs, endedMs: monotonicMs() });
      } catch (error) {
        (wasNotWritten(error) ? this.refused : this.unknown).add(id);
        connection.destroy();
        connection = null;
        await sleep(RETRY_MS);
      }
      if (pauseMs > 0) await sleep(pauseMs);
    }
    connection?.destroy();
  }

  async #connect(): Promise<mysql.Connection> {
    const connection = await mysql.createConnection({ ...this.#target, connectTimeout: CONNECT_TIMEOUT_MS });
    connection.on("error", () => {}); // the next query on it fails
    return connection;
  }

  #ack(write: AckedWrite): void {
    this.#longestGapMs = Math.max(this.#longestGapMs, write.endedMs - this.#lastAckMs);
    this.#lastAckMs = write.endedMs;
    this.acked.add(write.id);
    this.ackedWrites.push(write);
  }
}

/** MySQL or the driver says for certain that nothing was written. */
function wasNotWritten(error: unknown): boolean {
  const { errno = 0, message = "" } = error as { errno?: number; message?: string };
  return REFUSALS.has(errno) || message.includes("closed state");
}
