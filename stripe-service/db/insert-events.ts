import type { EventType } from "../../core/order-states.ts";
import { toDbTime, type Instant } from "../../core/time.ts";
import type { Db } from "./db.ts";
import { integerLiteral, rowList, textLiteral } from "./literals.ts";

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

const INSERT =
  "INSERT INTO order_events (transaction_id, mchid, out_trade_no, event_type, version, create_time, data) VALUES ";

/** The statement that appends to the journal, in order. Only after the fence was read in this transaction. */
export function insertEventsSql(now: Instant, events: readonly NewEvent[]): string {
  const time = textLiteral(toDbTime(now));
  const rows = events.map((event) => [
    textLiteral(event.transactionId),
    textLiteral(event.mchid),
    textLiteral(event.outTradeNo),
    textLiteral(event.type),
    event.version === undefined ? "NULL" : integerLiteral(event.version),
    time,
    textLiteral(JSON.stringify(event.data)),
  ]);
  return INSERT + rowList(rows);
}

/** Appends to the journal. */
export async function insertEvents(db: Db, now: Instant, events: readonly NewEvent[]): Promise<void> {
  await db.query(insertEventsSql(now, events));
}
