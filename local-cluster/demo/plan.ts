// The day that the demo plays: who orders what, and what becomes of each order.
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { Random } from "./random.ts";

export type Fate = "pay" | "expire" | "close";

export interface PlannedOrder {
  readonly order: CreateOrder;
  readonly fate: Fate;
  /** Minor units of each refund; empty for most. Their sum never exceeds the total. */
  readonly refunds: readonly number[];
  /** The client sends the create again although it was answered. */
  readonly repeatsCreate: boolean;
  /** The client hangs up on its first create and its first pay, and sends them again. */
  readonly impatient: boolean;
}

const PAID_SHARE = 0.8;
const EXPIRED_SHARE = 0.12;
const REFUNDED_SHARE_OF_PAID = 0.05;
const REPEATED_SHARE = 0.03;
const IMPATIENT_SHARE = 0.02;
/** Shop sizes follow a Zipf-like law with this exponent. */
const SIZE_EXPONENT = 1.1;
/** Amounts are log-normal around 38.00 with a long tail. */
const AMOUNT_MEDIAN_MINOR = 3800;
const AMOUNT_SIGMA = 1.4;
const AMOUNT_MAX_MINOR = 50_000_000;

const GOODS = [
  "早餐豆浆油条套餐",
  "拿铁咖啡（大杯，少冰）",
  "地铁单程票：人民广场→徐家汇",
  "龙井茶 250g 明前特级",
  "共享单车骑行 30 分钟",
  "☕️ 手冲咖啡 + 提拉米苏",
  "𠮷野家牛肉饭",
  "电影票 2 张 · 周五晚场",
  "Mobile top-up 50",
  "Flat white and almond croissant",
  "Taxi to the airport",
  "Phone case, clear",
  "Concert ticket, row C seat 14",
  "Weekly groceries 🥦🍎",
  "Running shoes, size 42",
  "Annual cloud storage plan",
] as const;

function merchantWeights(count: number): number[] {
  const raw = [...Array(count).keys()].map((i) => 1 / (i + 1) ** SIZE_EXPONENT);
  const sum = raw.reduce((a, b) => a + b, 0);
  let running = 0;
  return raw.map((w) => {
    running += w / sum;
    return running;
  });
}

function amountOf(random: Random): number {
  const minor = Math.round(AMOUNT_MEDIAN_MINOR * Math.exp(AMOUNT_SIGMA * random.normal()));
  return Math.min(Math.max(minor, 1), AMOUNT_MAX_MINOR);
}

function refundsOf(random: Random, total: number): number[] {
  if (total < 2 || random.chance(0.5)) return [total];
  const first = random.integer(1, total - 1);
  return random.chance(0.5) ? [first] : [first, total - first];
}

function fateOf(random: Random): Fate {
  const roll = random.next();
  if (roll < PAID_SHARE) return "pay";
  return roll < PAID_SHARE + EXPIRED_SHARE ? "expire" : "close";
}

/**
 * Plans a day.
 * @param run short text that makes this run's merchant and order numbers its own
 * @param seed the same seed plans the same day
 */
export function planDay(run: string, seed: number, merchants: number, orders: number): PlannedOrder[] {
  const random = new Random(seed);
  const weights = merchantWeights(merchants);
  return [...Array(orders).keys()].map((i) => {
    const roll = random.next();
    const merchant = weights.findIndex((w) => roll < w);
    const total = amountOf(random);
    const fate = fateOf(random);
    const refunded = fate === "pay" && random.chance(REFUNDED_SHARE_OF_PAID);
    return {
      order: {
        mchid: `demo-${run}-${merchant < 0 ? merchants - 1 : merchant}`,
        out_trade_no: `day-${run}-${i}`,
        description: random.pick(GOODS),
        amount: { total, currency: random.chance(0.9) ? "CNY" : random.pick(["USD", "EUR", "JPY"]) },
        ...(random.chance(0.3) ? { attach: `门店 ${random.integer(1, 400)} / till ${random.integer(1, 9)}` } : {}),
      },
      fate,
      refunds: refunded ? refundsOf(random, total) : [],
      repeatsCreate: random.chance(REPEATED_SHARE),
      impatient: random.chance(IMPATIENT_SHARE),
    };
  });
}
