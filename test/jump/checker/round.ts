// One round: merchants and bad weather for a while; then everything heals and drains, and every invariant must hold.
import { bucketOf } from "../../../core/placement.ts";
import { Random } from "../../../local-cluster/demo/random.ts";
import { moveBucket } from "../../../ops/bucket-move/move-bucket.ts";
import { listOpenMoves } from "../../../ops/db/bucket-moves.ts";
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { freshNo } from "../../support/orders-api.ts";
import {
  brokenAlways,
  brokenDrained,
  isPaid,
  type NumberFacts,
  type OrderFact,
  readFacts,
  survivorOf,
} from "../support/facts.ts";
import { type JumpCluster, STRIPES } from "../support/jump-cluster.ts";
import type { StripeDatabase } from "../../support/stripe-database.ts";
import { createOnce, merchant, Seen } from "./merchants.ts";
import { Weather } from "./weather.ts";

const NUMBERS_MAX = 6;
const MERCHANTS_MAX = 3;
const STRICT = "strict-merchant";
const CONTENT = "tea";
const CERTAIN_MAX_MS = 20_000;
const HOMES_EVERY_MS = 40;

export interface RoundResult {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly answers: number;
  readonly orders: number;
  /** Merchant numbers with more than one order. */
  readonly doubles: number;
  readonly excess: number;
  readonly payments: number;
}

/** Puts the strict merchant into the table; once for a cluster. */
export async function setUpMerchants(cluster: JumpCluster): Promise<void> {
  await cluster.control("merchants").insert({
    mchid: STRICT,
    partition_name: "standard",
    create_policy: "strict",
    update_time: cluster.control.raw("UTC_TIMESTAMP(3)"),
  });
  await cluster.changed();
  await cluster.routed();
}

export async function playRound(cluster: JumpCluster, seed: number): Promise<RoundResult> {
  const random = new Random(seed);
  const mchid = `m-${freshNo("R")}`.slice(0, 32);
  const numbers = Array.from({ length: random.integer(2, NUMBERS_MAX) }, () => freshNo());
  const strictNo = freshNo();
  const seen = new Seen();
  const end = new AbortController();
  const part = { proxies: cluster.proxies, random, seen, mchid, end: end.signal };
  const bucket = (outTradeNo: string): number => bucketOf({ mchid, outTradeNo });
  const weather = new Weather(cluster, random);
  const merchants = numbers.flatMap((outTradeNo) =>
    Array.from({ length: random.integer(1, MERCHANTS_MAX) }, () =>
      merchant(part, outTradeNo, random.chance(0.04) ? "coffee" : CONTENT),
    ),
  );
  merchants.push(merchant({ ...part, mchid: STRICT }, strictNo, CONTENT));
  const always: string[] = [];
  const others = [
    expiries(cluster, random, mchid, end.signal),
    watch(cluster, mchid, bucket, always, end.signal),
    watchHomes(cluster, always, end.signal),
  ];
  await weather.blow(random.integer(900, 2_200), [
    ...numbers.map(bucket),
    bucketOf({ mchid: STRICT, outTradeNo: strictNo }),
  ]);
  end.abort();
  await weather.heal();
  await Promise.all([...merchants, ...others]);
  await weather.heal();
  await finishMoves(cluster);
  await cluster.drained();
  // Once more everybody asks; a busy machine may make one of them jump even now.
  for (const outTradeNo of numbers) {
    const id = await createOnce(part, outTradeNo, CONTENT);
    if (id !== undefined) seen.tell(outTradeNo, id);
  }
  for (const link of cluster.links.values()) await link.quiet();
  await cluster.drained();
  const facts = await readFacts(cluster.databases, mchid, bucket);
  const broken = [...always, ...seen.wrong, ...(await brokenNow(cluster, facts, seen))];
  broken.push(...brokenPromises(facts, seen, strictNo), ...(await brokenForMerchants(cluster, facts, part)));
  broken.push(...(await brokenStrict(cluster, strictNo, seen)));
  return { seed, broken, ...figures(facts, seen) };
}

/** Now and then an order's time runs out. */
async function expiries(cluster: JumpCluster, random: Random, mchid: string, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    await sleep(random.integer(100, 900), end);
    if (end.aborted) return;
    const stripe = random.pick(STRIPES);
    const open = "SELECT transaction_id FROM orders WHERE mchid = ? AND trade_state = 'NOTPAY'";
    const rows = await cluster.sql(stripe, open, [mchid]);
    if (rows.length === 0) continue;
    const { transaction_id: id } = random.pick(rows);
    await cluster.sql(stripe, "UPDATE orders SET time_expire = UTC_TIMESTAMP(3) WHERE transaction_id = ?", [id]);
  }
}

/** What must hold at all times is looked at while the storm goes on. */
async function watch(
  cluster: JumpCluster,
  mchid: string,
  bucket: (outTradeNo: string) => number,
  broken: string[],
  end: AbortSignal,
): Promise<void> {
  while (!end.aborted) {
    await sleep(300, end);
    for (const facts of (await readFacts(cluster.databases, mchid, bucket)).values())
      broken.push(...brokenAlways(facts));
  }
}

/** V10 at all times: no bucket has two homes. One statement sees all stripes in one snapshot, and moves are quick. */
async function watchHomes(cluster: JumpCluster, broken: string[], end: AbortSignal): Promise<void> {
  const home = ({ stripe, target }: StripeDatabase): string =>
    `SELECT bucket, ${stripe} AS stripe FROM \`${target.database}\`.bucket_state WHERE role = 'HOME'`;
  const all = [...cluster.databases.values()].map(home).join(" UNION ALL ");
  const [stripe] = STRIPES;
  while (!end.aborted) {
    const twice = await cluster.sql(
      stripe,
      `SELECT bucket, GROUP_CONCAT(stripe) AS stripes FROM (${all}) homes GROUP BY bucket HAVING COUNT(*) > 1`,
    );
    for (const row of twice) broken.push(`V10 bucket ${String(row.bucket)}: homes ${String(row.stripes)} at once`);
    await sleep(HOMES_EVERY_MS, end);
  }
}

async function finishMoves(cluster: JumpCluster): Promise<void> {
  for (const { partition, bucket, to } of await listOpenMoves(cluster.control, "standard")) {
    await moveBucket(cluster.mover(), { partition, bucket, to });
  }
  await cluster.routed();
}

/** V1 … V10, and the money. */
async function brokenNow(cluster: JumpCluster, facts: Map<string, NumberFacts>, seen: Seen): Promise<string[]> {
  const broken: string[] = [];
  const homes = new Map<number, number[]>();
  for (const stripe of STRIPES) {
    for (const row of await cluster.sql(stripe, "SELECT bucket FROM bucket_state WHERE role = 'HOME'")) {
      homes.set(Number(row.bucket), [...(homes.get(Number(row.bucket)) ?? []), stripe]);
    }
  }
  for (const one of facts.values()) {
    const home = await cluster.homeOf(one.bucket);
    const roles = homes.get(one.bucket) ?? [];
    if (roles.join() !== String(home)) broken.push(`V10 bucket ${one.bucket}: home ${home}, roles ${roles.join()}`);
    broken.push(...brokenDrained(one, home));
  }
  const orders = new Map([...facts.values()].flatMap((one) => one.orders.map((order) => [order.id, order] as const)));
  for (const { id, outPayNo, outcome } of seen.payments) {
    const order = orders.get(id);
    if (order === undefined) continue; // the strict merchant's
    const excess = order.excess.find((entry) => entry.endsWith(` ${outPayNo}`));
    const onSurvivor = order.paidBy === outPayNo && order.supersededBy === null;
    const recorded = onSurvivor || excess !== undefined;
    if (outcome === "paid" && (!recorded || order.paidBy !== outPayNo))
      broken.push(`V5 ${id}: ${outPayNo} was paid and is lost`);
    if (outcome === "refused" && excess === undefined)
      broken.push(`V5 ${id}: ${outPayNo} was refused and not recorded`);
  }
  broken.push(...brokenRefunds(orders, seen));
  const known = new Set(seen.payments.map(({ outPayNo }) => outPayNo));
  for (const order of orders.values()) {
    if (order.paidBy !== null && !known.has(order.paidBy)) broken.push(`V5 ${order.id}: paid by nobody`);
  }
  return broken;
}

/** Money that was given back is recorded once, with what it was given back of; never more than was paid. */
function brokenRefunds(orders: ReadonlyMap<string, OrderFact>, seen: Seen): string[] {
  const broken: string[] = [];
  for (const { id, outRefundNo, total } of seen.refunds) {
    const found = orders.get(id)?.refunds.filter((refund) => refund === `${outRefundNo} ${total}`).length;
    if (found !== undefined && found !== 1) broken.push(`refund ${outRefundNo} of ${id} is there ${found} times`);
  }
  for (const { id, paid, refunds } of orders.values()) {
    const sum = refunds.reduce((all, refund) => all + Number(refund.split(" ")[1]), 0);
    if (sum > paid) broken.push(`V5 ${id}: ${sum} was given back of ${paid}`);
  }
  return broken;
}

/** V7 and V11, as merchants see them through both proxies. */
async function brokenForMerchants(
  cluster: JumpCluster,
  facts: Map<string, NumberFacts>,
  part: Parameters<typeof createOnce>[0],
): Promise<string[]> {
  const broken: string[] = [];
  for (const [outTradeNo, one] of facts) {
    const survivor = survivorOf(one)?.id;
    for (const api of cluster.proxies) {
      const path = `/v1/orders/out-trade-no/${outTradeNo}?mchid=${part.mchid}`;
      const { status, body } = await certain(() => api.get<Record<string, unknown>>(path));
      if (body.transaction_id !== survivor)
        broken.push(`V7 ${outTradeNo}: look-up gives ${status} ${String(body.transaction_id)}`);
    }
    for (const id of part.seen.told.get(outTradeNo) ?? []) {
      const { body } = await certain(() => cluster.api(0).order(id));
      const stands = body.transaction_id === survivor || body.superseded_by === survivor;
      if (!stands) broken.push(`V11 ${outTradeNo}: ${id} was told, and answers ${JSON.stringify(body)}`);
    }
  }
  return broken;
}

/** The first answer that is not "unknown" or "not now": a busy machine is no violation. */
async function certain<T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> {
  const deadline = new Deadline(CERTAIN_MAX_MS);
  for (;;) {
    const answer = await ask();
    if (answer.status < 500 || deadline.passed) return answer;
  }
}

/** Every order that was told of exists. */
function brokenPromises(facts: Map<string, NumberFacts>, seen: Seen, strictNo: string): string[] {
  const stored = new Set([...facts.values()].flatMap((one) => one.orders.map(({ id }) => id)));
  return [...seen.told]
    .filter(([outTradeNo]) => outTradeNo !== strictNo)
    .flatMap(([outTradeNo, ids]) =>
      [...ids].filter((id) => !stored.has(id)).map((id) => `V11 ${outTradeNo}: ${id} was told and is nowhere`),
    );
}

/** A strict merchant's number never has two orders, and never a handoff. */
async function brokenStrict(cluster: JumpCluster, outTradeNo: string, seen: Seen): Promise<string[]> {
  const bucket = bucketOf({ mchid: STRICT, outTradeNo });
  const one = (await readFacts(cluster.databases, STRICT, () => bucket, outTradeNo)).get(outTradeNo);
  const told = [...(seen.told.get(outTradeNo) ?? [])];
  if (one === undefined) return told.map((id) => `V11 strict ${outTradeNo}: ${id} was told and is nowhere`);
  const broken = brokenDrained(one, await cluster.homeOf(bucket));
  if (one.orders.length > 1 || one.handoffs.length > 0)
    broken.push(`strict ${outTradeNo}: ${one.orders.length} orders`);
  return broken;
}

function figures(facts: Map<string, NumberFacts>, seen: Seen): Omit<RoundResult, "seed" | "broken"> {
  const orders = [...facts.values()].flatMap((one) => one.orders);
  return {
    answers: seen.answers,
    orders: orders.length,
    doubles: [...facts.values()].filter((one) => one.orders.length > 1).length,
    excess: orders.filter((order) => isPaid(order) && order.supersededBy !== null).length,
    payments: seen.payments.length,
  };
}
