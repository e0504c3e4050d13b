// What a batch sends together with its fence read, so as to save a round trip: the keys of its creates, as if the fence
// would say what it nearly always says, or the locks of its orders. When the fence says otherwise the transaction is
// rolled back and run again without.
import { insertIndexRowsSql, type NewKey } from "../db/key-sets.ts";
import { type RowLock, selectOrdersSql } from "../db/order-sets.ts";
import type { OrderRow } from "../db/tables.ts";
import { type CreateInput, keyOf } from "../orders/create-order.ts";
import { TransactionRetry } from "../orders/tx.ts";
import { isProbe, type Operation } from "./operations.ts";

/** The fence does not allow what was sent along with it. */
export class AheadOfFence extends TransactionRetry {}

export interface Ahead {
  readonly sql: string;
  /** Names of the keys that it writes, each with the create that writes it. */
  readonly keys: ReadonlyMap<string, CreateInput>;
  /** Orders that it locks. */
  readonly orders: readonly string[];
}

/** An {@link Ahead} that was run. */
export interface AheadResult extends Pick<Ahead, "keys" | "orders"> {
  /** Index rows that it has written. */
  readonly written: number;
  readonly rows: readonly OrderRow[];
}

export function nameOf(mchid: string, outTradeNo: string): string {
  return `${mchid} ${outTradeNo}`;
}

export function newKey(input: CreateInput): NewKey {
  const { transactionId, requestHash, failed } = input;
  return { key: keyOf(input), transactionId, requestHash, failed };
}

/** In the order of the index's primary key. */
export function byIndexKey({ key: a }: NewKey, { key: b }: NewKey): number {
  return a.bucket - b.bucket || compare(a.mchid, b.mchid) || compare(a.outTradeNo, b.outTradeNo);
}

export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** @returns undefined when nothing can be sent along */
export function aheadOf(ops: readonly Operation[], lock: RowLock): Ahead | undefined {
  const creates = ops.flatMap((op) => (op.kind === "create" ? [op.input] : []));
  if (creates.length > 0) return keysAhead(creates);
  const ids = new Set<string>();
  for (const op of ops) {
    if (op.kind === "create" || op.kind === "refund-result" || isProbe(op)) return undefined;
    ids.add(op.transactionId);
  }
  if (ids.size === 0) return undefined;
  const orders = [...ids].sort(compare);
  return { sql: selectOrdersSql(orders, lock), keys: new Map(), orders };
}

/** Only numbers of which every create looks the usual way: meant for the home, without a time that may be refused. */
function keysAhead(creates: readonly CreateInput[]): Ahead | undefined {
  const keys = new Map<string, CreateInput>();
  const odd = new Set<string>();
  for (const input of creates) {
    const name = nameOf(input.order.mchid, input.order.out_trade_no);
    if (input.as !== "HOME" || input.order.time_expire !== undefined) odd.add(name);
    if (!keys.has(name)) keys.set(name, input);
  }
  for (const name of odd) keys.delete(name);
  if (keys.size === 0) return undefined;
  const sorted = [...keys.values()].map(newKey).sort(byIndexKey);
  return { sql: insertIndexRowsSql(sorted), keys, orders: [] };
}

/** What came of it, from what the driver says. */
export function aheadResult({ keys, orders }: Ahead, result: unknown): AheadResult {
  if (Array.isArray(result)) return { keys, orders, written: 0, rows: result as OrderRow[] };
  return { keys, orders, written: (result as { affectedRows: number }).affectedRows, rows: [] };
}
