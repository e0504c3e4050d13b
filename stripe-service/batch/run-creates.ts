// The creates of a batch. Keys are written first, all with one statement; when that wrote every one, all are new, which
// is the rule. Of several creates with one number the first that can make an order makes it, the others are replays.
import type { Instant } from "../../core/time.ts";
import {
  insertHandoffs,
  insertIndexRows,
  type KnownKey,
  type NewKey,
  selectHandoffs,
  selectIndexRows,
} from "../db/key-sets.ts";
import { selectOrders } from "../db/order-sets.ts";
import type { OrderRow } from "../db/tables.ts";
import {
  createdEvent,
  type CreateInput,
  keyOf,
  newOrderView,
  type Path,
  planCreate,
  replayCreate,
  replayNew,
} from "../orders/create-order.ts";
import { done, refused, type Tx } from "../orders/tx.ts";
import type { DomainError } from "../../core/errors.ts";
import { AheadOfFence, type AheadResult, byIndexKey, compare, nameOf, newKey } from "./ahead.ts";
import type { Result } from "./operations.ts";
import type { Writes } from "./writes.ts";

interface Member {
  readonly at: number;
  readonly input: CreateInput;
  readonly timeExpire: Instant;
  readonly fault: DomainError | undefined;
}

/** The creates of one merchant number; they all take the same path. */
interface Group {
  readonly path: Path;
  readonly members: Member[];
  /** Makes the order, unless the number is known. */
  maker: Member | undefined;
}

/**
 * Runs creates.
 * @param ahead what was sent along with the fence
 * @returns a result for each, in their order
 * @throws AheadOfFence when the fence does not allow a key that was written ahead
 */
export async function runCreates(
  tx: Tx,
  inputs: readonly CreateInput[],
  ahead: AheadResult | undefined,
  writes: Writes,
): Promise<Result[]> {
  const results: Result[] = [];
  const groups = new Map<string, Group>();
  for (const [at, input] of inputs.entries()) {
    const plan = planCreate(tx.fence, input);
    if (plan.kind === "refused") {
      results[at] = answer(refused(plan.error));
      continue;
    }
    const member = { at, input, timeExpire: plan.timeExpire, fault: plan.fault };
    const name = nameOf(input.order.mchid, input.order.out_trade_no);
    const group = groups.get(name) ?? { path: plan.path, members: [], maker: undefined };
    groups.set(name, group);
    group.members.push(member);
    if (plan.fault === undefined) group.maker ??= member;
  }
  for (const [name, input] of ahead?.keys ?? []) {
    const group = groups.get(name);
    if (group?.path !== "INDEX" || group.maker?.input !== input) throw new AheadOfFence("a key was written ahead");
  }
  for (const path of ["HANDOFF", "INDEX"] as const) {
    const some = [...groups].filter(([, group]) => group.path === path);
    if (some.length > 0) await runPath(tx, path, new Map(some), ahead, writes, results);
  }
  return results;
}

async function runPath(
  tx: Tx,
  path: Path,
  groups: ReadonlyMap<string, Group>,
  ahead: AheadResult | undefined,
  writes: Writes,
  results: Result[],
): Promise<void> {
  const written = await writeKeys(tx, path, groups, ahead);
  const known = written === groups.size ? NOTHING_KNOWN : await knownKeys(tx, path, groups);
  for (const [name, group] of groups) {
    const pointer = known.pointers.get(name);
    const { maker } = group;
    const isNew =
      maker !== undefined &&
      (pointer === undefined ||
        (pointer.transaction_id === maker.input.transactionId && !known.orders.has(pointer.transaction_id)));
    for (const member of group.members) {
      if (isNew) results[member.at] = madeOrRepeated(tx, path, maker, member, writes);
      else results[member.at] = knownOrRefused(tx, member, pointer, known.orders);
    }
  }
}

/** Writes the keys that no other transaction has written. @returns how many, those that were written ahead included */
async function writeKeys(
  tx: Tx,
  path: Path,
  groups: ReadonlyMap<string, Group>,
  ahead: AheadResult | undefined,
): Promise<number> {
  const keys: NewKey[] = [];
  for (const [name, { maker }] of groups) {
    if (maker !== undefined && ahead?.keys.has(name) !== true) keys.push(newKey(maker.input));
  }
  const before = path === "INDEX" ? (ahead?.written ?? 0) : 0;
  if (keys.length === 0) return before;
  if (path === "INDEX") return before + (await insertIndexRows(tx.db, keys.sort(byIndexKey)));
  return insertHandoffs(tx.db, keys.sort(byHandoffKey), tx.now);
}

function byHandoffKey({ key: a }: NewKey, { key: b }: NewKey): number {
  return compare(a.mchid, b.mchid) || compare(a.outTradeNo, b.outTradeNo);
}

interface Known {
  readonly pointers: ReadonlyMap<string, KnownKey>;
  /** Orders that the pointers name and that were here before this transaction. */
  readonly orders: ReadonlyMap<string, OrderRow>;
}

const NOTHING_KNOWN: Known = { pointers: new Map(), orders: new Map() };

/** What is known of the keys now; those that were just written are among it, their orders are not. */
async function knownKeys(tx: Tx, path: Path, groups: ReadonlyMap<string, Group>): Promise<Known> {
  const keys = [...groups.values()].flatMap(({ members: [first] }) =>
    first === undefined ? [] : [keyOf(first.input)],
  );
  const rows = await (path === "INDEX" ? selectIndexRows : selectHandoffs)(tx.db, keys);
  const ids = [...new Set(rows.map((row) => row.transaction_id))];
  const orders = await selectOrders(tx.db, ids, "NONE");
  return {
    pointers: new Map(rows.map((row) => [nameOf(row.mchid, row.out_trade_no), row])),
    orders: new Map(orders.map((row) => [row.transaction_id, row])),
  };
}

function madeOrRepeated(tx: Tx, path: Path, maker: Member, member: Member, writes: Writes): Result {
  const { input, timeExpire } = maker;
  if (member !== maker) {
    return { kind: "answer", outcome: replayNew(member.input, input, timeExpire, tx.now), pending: true };
  }
  const { transactionId, order } = input;
  writes.order({ transactionId, order, createTime: tx.now, timeExpire }, createdEvent(input, path, timeExpire));
  return {
    kind: "answer",
    outcome: done({ kind: "created", order: newOrderView(input, tx.now, timeExpire) }),
    pending: true,
  };
}

function knownOrRefused(
  tx: Tx,
  { input, fault }: Member,
  pointer: KnownKey | undefined,
  orders: ReadonlyMap<string, OrderRow>,
): Result {
  if (pointer !== undefined) {
    const { transaction_id: transactionId, request_hash: hash } = pointer;
    const named = { transactionId, requestHash: hash.toString("hex") };
    return answer(replayCreate(input, named, orders.get(transactionId), tx.now));
  }
  if (fault !== undefined) return answer(refused(fault));
  throw new Error("a key that exists has no row");
}

function answer(outcome: Extract<Result, { kind: "answer" }>["outcome"]): Result {
  return { kind: "answer", outcome, pending: false };
}
