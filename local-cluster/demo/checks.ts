// What must hold after the day, asked from outside: over HTTP and of the databases, never of the code under test.
import type { Order } from "../../core/schemas/orders.ts";
import type { DemoClient } from "./client.ts";
import type { StoredOrder } from "./db/stripe-facts.ts";
import type { Played } from "./player.ts";

function expectedState(played: Played): string {
  if (played.refunded > 0) return "REFUND";
  if (played.paid > 0) return "SUCCESS";
  return "CLOSED";
}

/** Differences between an order read back and what its client was told; empty when they agree. */
function differences(played: Played, found: Order): string[] {
  const { order } = played.plan;
  const wanted: [string, unknown, unknown][] = [
    ["transaction_id", played.created.transaction_id, found.transaction_id],
    ["mchid", order.mchid, found.mchid],
    ["out_trade_no", order.out_trade_no, found.out_trade_no],
    ["description", order.description, found.description],
    ["attach", order.attach, found.attach],
    ["total", order.amount.total, found.amount.total],
    ["currency", order.amount.currency, found.amount.currency],
    ["refunded", played.refunded, found.amount.refunded],
    ["refunding", 0, found.amount.refunding],
    ["create_time", played.created.create_time, found.create_time],
    ["time_expire", played.created.time_expire, found.time_expire],
    ["trade_state", expectedState(played), found.trade_state],
    ["close_reason", closeReasonOf(played), found.close_reason],
  ];
  return wanted
    .filter(([, want, got]) => want !== got)
    .map(
      ([field, want, got]) => `${played.created.transaction_id} ${field}: told ${String(want)}, reads ${String(got)}`,
    );
}

function closeReasonOf(played: Played): string | undefined {
  if (played.plan.fate === "pay") return undefined;
  return played.plan.fate === "close" ? "MERCHANT" : "EXPIRED";
}

/** Reads every acknowledged order back over HTTP. @returns what differs from what its client was told */
export async function readAllBack(client: DemoClient, day: readonly Played[], parallel: number): Promise<string[]> {
  const faults: string[] = [];
  const queue = day.values();
  const worker = async (): Promise<void> => {
    for (const played of queue) {
      const answer = await client.send("GET", `/v1/orders/${played.created.transaction_id}`);
      if (answer.status !== 200) faults.push(`${played.created.transaction_id} is not readable: ${answer.status}`);
      else faults.push(...differences(played, answer.body as unknown as Order));
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return faults;
}

/** Merchants whose paid − refunded differs between what clients were told and what the databases hold. */
export function checkMoney(day: readonly Played[], stored: readonly StoredOrder[]): string[] {
  const told = new Map<string, bigint>();
  const held = new Map<string, bigint>();
  const add = (books: Map<string, bigint>, mchid: string, n: bigint): void => {
    books.set(mchid, (books.get(mchid) ?? 0n) + n);
  };
  for (const p of day) add(told, p.plan.order.mchid, BigInt(p.paid - p.refunded));
  for (const o of stored) add(held, o.mchid, o.paid - o.refunded);
  return [...new Set([...told.keys(), ...held.keys()])]
    .filter((mchid) => (told.get(mchid) ?? 0n) !== (held.get(mchid) ?? 0n))
    .map(
      (mchid) => `${mchid}: clients were told ${told.get(mchid) ?? 0n}, the databases hold ${held.get(mchid) ?? 0n}`,
    );
}

/** Merchant numbers that have two orders which are neither closed nor superseded. */
export function twiceOpen(stored: readonly StoredOrder[]): string[] {
  const open = new Map<string, string[]>();
  for (const o of stored) {
    if (o.state === "CLOSED" || o.superseded) continue;
    const key = `${o.mchid} ${o.outTradeNo}`;
    open.set(key, [...(open.get(key) ?? []), o.transactionId]);
  }
  return [...open].filter(([, ids]) => ids.length > 1).map(([key, ids]) => `${key}: ${ids.join(", ")}`);
}
