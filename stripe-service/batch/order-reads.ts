// Queries by number that wait at the same time are one statement at the source. A batch forms while the ones before it
// are being read; a query that finds nobody before it is read at once.
import { Deadline } from "../../runtime/clock.ts";
import { type FencedRow, readOrders } from "../db/reads.ts";
import type { OrderRow } from "../db/tables.ts";
import { bounded, TimedOut } from "../storage/bounded.ts";
import { overloaded, unavailable } from "../storage/mysql-faults.ts";
import type { Read, Reader } from "../storage/reader.ts";

export type OrderRead = Read<FencedRow<OrderRow>>;

export interface OrderReadLimits {
  /** Statements at the same time. */
  readonly flights: number;
  /** Orders of one statement. */
  readonly batchMax: number;
  /** Queries that wait; one more is refused at once. */
  readonly queueMax: number;
}

interface Waiting {
  readonly id: string;
  readonly deadline: Deadline;
  readonly resolve: (read: OrderRead) => void;
  readonly reject: (error: unknown) => void;
}

export class OrderReads {
  readonly #reader: Reader;
  readonly #limits: OrderReadLimits;
  #queue: Waiting[] = [];
  #inFlight = 0;
  #awake = false;

  constructor(reader: Reader, limits: OrderReadLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /** One order from the source; its row's columns are null when there is none. @throws DomainError as `Reader.source` */
  async read(id: string, deadline: Deadline): Promise<OrderRead> {
    // While the source is suspected one query at a time finds out, and takes no others along; the rest are told at once.
    if (this.#reader.condition !== "normal") return this.#reader.source(deadline, (db) => readOrders(db, [id]));
    if (this.#queue.length >= this.#limits.queueMax) throw overloaded("too many queries wait for the database");
    const { promise, resolve, reject } = Promise.withResolvers<OrderRead>();
    this.#queue.push({ id, deadline, resolve, reject });
    this.#wakeUp();
    try {
      return await bounded(promise, deadline.remainingMs());
    } catch (error) {
      throw error instanceof TimedOut ? unavailable("the stripe's source did not answer in time") : error;
    }
  }

  /** Everything that arrives in this turn of the event loop is to be in the same statement. */
  #wakeUp(): void {
    if (this.#awake) return;
    this.#awake = true;
    setImmediate(() => {
      this.#awake = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#queue.length > 0 && this.#inFlight < this.#limits.flights) {
      const some = this.#queue.splice(0, this.#limits.batchMax).filter(({ deadline }) => !deadline.passed);
      if (some.length === 0) continue;
      this.#inFlight += 1;
      void this.#run(some).finally(() => {
        this.#inFlight -= 1;
        this.#start();
      });
    }
  }

  async #run(some: readonly Waiting[]): Promise<void> {
    const ids = [...new Set(some.map(({ id }) => id))];
    const deadline = new Deadline(Math.max(...some.map((one) => one.deadline.remainingMs())));
    try {
      const read = await this.#reader.source(deadline, (db) => readOrders(db, ids), some.length);
      const rows = new Map(read.rows.map((row) => [row.transaction_id, row]));
      const [any] = read.rows;
      for (const { id, resolve } of some) {
        const row = rows.get(id) ?? (any === undefined ? undefined : { ...any, transaction_id: null });
        resolve({ ...read, rows: row === undefined ? [] : [row] });
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}
