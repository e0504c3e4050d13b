import type { EventType } from "../../core/order-states.ts";
import { toDbTime, type Instant } from "../../core/time.ts";
import type { Db } from "./db.ts";

export interface NewEvent {
  readonly type: EventType;
  /** The aggregates that changed: an order, a merchant number, both, or neither (sequence, stripe, bucket). */
  readonly transactionId?: string;
  readonly mchid?: string;
  readonly outTradeNo?: string;
  /** Of the order after the change. */
  readonly version?: number;
  /** Facts; never personal data. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Appends to the journal, in order. Only after the fence was read in this transaction. */
export async function insertEvents(db: Db, now: Instant, events: readonly NewEvent[]): Promise<void> {
  const values = events.flatMap((event) => [
    event.transactionId ?? null,
    event.mchid ?? null,
    event.outTradeNo ?? null,
    event.type,
    event.version ?? null,
    toDbTime(now),
    JSON.stringify(event.data),
  ]);
  const rows = events.map(() => "(?, ?, ?, ?, ?, ?, ?)").join(", ");
  const sql = `INSERT INTO order_events (transaction_id, mchid, out_trade_no, event_type, version, create_time, data)
    VALUES ${rows}`;
  // One event is the rule and prepared; batches vary in length, each would be a statement of its own.
  await (events.length === 1 ? db.execute(sql, values) : db.query(sql, values));
}
