// What the stripes' databases say of merchant numbers, and the invariants that must hold once everything has healed.
import type { StripeDatabase } from "../../support/stripe-database.ts";

export interface OrderFact {
  readonly stripe: number;
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly supersededBy: string | null;
  /** The payment that made it paid. */
  readonly paidBy: string | null;
  readonly paid: number;
  /** `reason out_pay_no` of each excess payment. */
  readonly excess: readonly string[];
  /** `out_refund_no total` of each refund. */
  readonly refunds: readonly string[];
  /** State changes in the order's journal, oldest first. */
  readonly events: readonly string[];
}

export interface NumberFacts {
  readonly name: string;
  readonly bucket: number;
  readonly orders: OrderFact[];
  readonly handoffs: { readonly stripe: number; readonly id: string; readonly state: string }[];
  /** Index rows by stripe, also of stripes that are no longer home. */
  readonly pointers: Map<number, string>;
}

const PAID: ReadonlySet<string> = new Set(["SUCCESS", "REFUND"]);

/** Facts of all numbers of a merchant, or of one of them, by `out_trade_no`. */
export async function readFacts(
  databases: ReadonlyMap<number, StripeDatabase>,
  mchid: string,
  bucketOf: (outTradeNo: string) => number,
  only = "%",
): Promise<Map<string, NumberFacts>> {
  const facts = new Map<string, NumberFacts>();
  const of = (name: unknown): NumberFacts => {
    const outTradeNo = String(name as string);
    let found = facts.get(outTradeNo);
    if (found === undefined) {
      found = { name: outTradeNo, bucket: bucketOf(outTradeNo), orders: [], handoffs: [], pointers: new Map() };
      facts.set(outTradeNo, found);
    }
    return found;
  };
  for (const [stripe, database] of databases) {
    const wanted = [mchid, only];
    for (const row of await database.sql(ORDERS, wanted)) of(row.out_trade_no).orders.push(orderFact(stripe, row));
    for (const row of await database.sql(HANDOFFS, wanted)) {
      of(row.out_trade_no).handoffs.push({ stripe, id: String(row.transaction_id), state: String(row.state) });
    }
    for (const row of await database.sql(POINTERS, wanted)) {
      of(row.out_trade_no).pointers.set(stripe, String(row.transaction_id));
    }
  }
  return facts;
}

const WANTED = "mchid = ? AND out_trade_no LIKE ?";
const HANDOFFS = `SELECT out_trade_no, transaction_id, state FROM handoffs WHERE ${WANTED}`;
const POINTERS = `SELECT out_trade_no, transaction_id FROM merchant_orders WHERE ${WANTED}`;
const ORDERS = `SELECT o.out_trade_no, o.transaction_id, o.trade_state, o.close_reason, o.superseded_by,
    p.out_pay_no AS paid_by, COALESCE(p.total, 0) AS paid,
    (SELECT GROUP_CONCAT(CONCAT(x.reason, ' ', x.out_pay_no)) FROM excess_payments x
      WHERE x.transaction_id = o.transaction_id) AS excess,
    (SELECT GROUP_CONCAT(CONCAT(r.out_refund_no, ' ', r.refund)) FROM refunds r
      WHERE r.transaction_id = o.transaction_id) AS refunds,
    (SELECT GROUP_CONCAT(e.event_type ORDER BY e.seq) FROM order_events e
      WHERE e.transaction_id = o.transaction_id) AS events
  FROM orders o LEFT JOIN payments p ON p.transaction_id = o.transaction_id WHERE o.${WANTED.replace("AND ", "AND o.")}`;

function orderFact(stripe: number, row: Record<string, unknown>): OrderFact {
  const text = (value: unknown): string | null => (value === null ? null : String(value as string));
  const list = (value: unknown): string[] => text(value)?.split(",") ?? [];
  return {
    stripe,
    id: String(row.transaction_id),
    state: String(row.trade_state),
    reason: text(row.close_reason),
    supersededBy: text(row.superseded_by),
    paidBy: text(row.paid_by),
    paid: Number(row.paid),
    excess: list(row.excess),
    refunds: list(row.refunds),
    events: list(row.events),
  };
}

export function isPaid(order: OrderFact): boolean {
  return PAID.has(order.state);
}

/** The order that is not superseded, if there is exactly one. */
export function survivorOf({ orders }: NumberFacts): OrderFact | undefined {
  const standing = orders.filter(({ supersededBy }) => supersededBy === null);
  return standing.length === 1 ? standing[0] : undefined;
}

/** What is broken of what must hold at any time, also while nothing has healed. */
export function brokenAlways({ name, orders }: NumberFacts): string[] {
  const broken: string[] = [];
  for (const order of orders) {
    const where = `${name} ${order.id}`;
    if (order.reason === "DUPLICATE" && order.supersededBy === null)
      broken.push(`V3 ${where}: DUPLICATE and not superseded`);
    const paidAt = order.events.indexOf("ORDER_PAID");
    if (paidAt >= 0 && order.events.indexOf("ORDER_CLOSED", paidAt) >= 0)
      broken.push(`V6 ${where}: closed after it was paid`);
    if (isPaid(order) !== (order.paidBy !== null)) broken.push(`V6 ${where}: ${order.state} and its payment disagree`);
    if (isCyclic(orders, order)) broken.push(`G2 ${where}: a cycle of superseded orders`);
  }
  return broken;
}

function isCyclic(orders: readonly OrderFact[], start: OrderFact): boolean {
  const byId = new Map(orders.map((order) => [order.id, order]));
  const seen = new Set<string>();
  let at: OrderFact | undefined = start;
  while (at !== undefined && at.supersededBy !== null) {
    if (seen.has(at.id)) return true;
    seen.add(at.id);
    at = byId.get(at.supersededBy);
  }
  return false;
}

/** What is broken once everything has healed and drained. @param home the bucket's home now */
export function brokenDrained(facts: NumberFacts, home: number): string[] {
  const { name, orders, handoffs, pointers } = facts;
  const broken = brokenAlways(facts);
  if (orders.length === 0) return broken;
  const survivor = survivorOf(facts);
  if (survivor === undefined) return [...broken, `V1 ${name}: ${JSON.stringify(orders)}`];
  const open = orders.filter(({ state }) => state === "NOTPAY");
  if (open.some((order) => order !== survivor)) broken.push(`V2 ${name}: an open order that does not stand`);
  // A merchant's close is about the number: after it none of its orders can be paid any more.
  if (orders.some(({ reason }) => reason === "MERCHANT") && open.length > 0)
    broken.push(`V2 ${name}: closed by its merchant, and ${open[0]?.id} is open`);
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const order of orders) {
    let [at, hops] = [order, 0];
    while (at.supersededBy !== null && hops <= orders.length) {
      const next = byId.get(at.supersededBy);
      if (next === undefined) break;
      [at, hops] = [next, hops + 1];
    }
    if (at !== survivor) broken.push(`V4 ${name}: the chain of ${order.id} ends at ${at.id}, not ${survivor.id}`);
  }
  const paid = orders.filter(isPaid);
  if (paid.length > 0 && !isPaid(survivor)) broken.push(`V5 ${name}: paid, and an unpaid order stands`);
  for (const order of paid) {
    const superseded = order.excess.filter((excess) => excess.startsWith("SUPERSEDED "));
    const expected = order === survivor ? [] : [`SUPERSEDED ${order.paidBy}`];
    if (superseded.join() !== expected.join()) broken.push(`V5 ${name} ${order.id}: excess ${superseded.join()}`);
  }
  if (pointers.get(home) !== survivor.id) broken.push(`V7 ${name}: home ${home} points to ${pointers.get(home)}`);
  const left = handoffs.filter(({ state }) => state !== "DONE");
  if (left.length > 0) broken.push(`V8 ${name}: ${JSON.stringify(left)}`);
  if (handoffs.length === 0 && orders.length > 1) broken.push(`V9 ${name}: ${orders.length} orders without a jump`);
  return broken;
}
