// Whatever happens to the two orders of a number, at whichever step of the resolver: exactly one stands, a paid one if
// any was paid, no paid one is closed, and all money that a payer was told of is on it or recorded as excess.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Key } from "../../stripe-service/db/index-rows.ts";
import { die, type Hooks, HOME, JumpStripes, type Moment } from "./support/jump-stripes.ts";

let h: JumpStripes;
before(async () => {
  h = await JumpStripes.start();
});
after(() => h[Symbol.asyncDispose]());

interface Pair {
  readonly key: Key;
  /** The order that the index names, and the jumped one. */
  readonly i: string;
  readonly d: string;
}

const MOMENTS: readonly Moment[] = [
  "before-1",
  "after-1",
  "before-2",
  "after-2",
  "before-3",
  "after-3",
  "before-4a",
  "after-4a",
];

/** How the two orders begin. */
const BEGINNINGS: Readonly<Record<string, (jumped: Pair) => Promise<unknown>>> = {
  "both open": async () => {},
  "the jumped one paid": ({ d }) => h.pay(d),
  "the jumped one closed": ({ d }) => h.close(d),
  "the jumped one expired": ({ d }) => h.expire(d),
  "the index's one closed": ({ i }) => h.close(i),
  "the index's one expired": ({ i }) => h.expire(i),
};

type Act = (pair: Pair) => Promise<{ id: string; outPayNo?: string; paid?: boolean }>;

const paying =
  (which: "i" | "d"): Act =>
  async (pair) => {
    const { answer, outPayNo } = await h.pay(pair[which]);
    assert.ok(answer.status === 200 || answer.status === 409, `pay answered ${answer.status}`);
    return { id: pair[which], outPayNo, paid: answer.status === 200 };
  };

const ACTS: Readonly<Record<string, Act>> = {
  "the index's order is paid": paying("i"),
  "the jumped order is paid": paying("d"),
  "the index's order is closed": ({ i }) => h.close(i).then(() => ({ id: i })),
  "the jumped order is closed": ({ d }) => h.close(d).then(() => ({ id: d })),
  "the index's order expires": ({ i }) => h.expire(i).then(() => ({ id: i })),
  "the jumped order expires": ({ d }) => h.expire(d).then(() => ({ id: d })),
};

async function pairOf(preferred: boolean): Promise<Pair> {
  const key = h.key();
  const i = await h.create(HOME, key);
  return { key, i, d: await h.create(2, key, { failed: preferred ? [i] : [] }) };
}

async function moneyIsKept(key: Key, { id, outPayNo, paid }: Awaited<ReturnType<Act>>): Promise<void> {
  if (outPayNo === undefined) return;
  const { orders } = await h.facts(key);
  const order = orders.find((one) => one.id === id);
  const excess = order?.excess.some((entry) => entry.endsWith(` ${outPayNo}`)) ?? false;
  if (paid === true) assert.ok(order?.paidBy === outPayNo && (order.supersededBy === null || excess), "paid and lost");
  else assert.ok(excess, "a refused payment was not recorded");
}

for (const [beginning, begin] of Object.entries(BEGINNINGS)) {
  describe(`${beginning}, then`, () => {
    for (const [name, act] of Object.entries(ACTS)) {
      test(`${name}, at each step, with and without a crash there`, async () => {
        for (const moment of MOMENTS) {
          for (const preferred of [true, false]) {
            // A crash before a step is one after the step before it.
            for (const crash of moment.startsWith("after") ? [true, false] : [false]) {
              const pair = await pairOf(preferred);
              await begin(pair);
              const done: Awaited<ReturnType<Act>>[] = [];
              const hooks: Hooks = {
                [moment]: async () => {
                  if (done.length > 0) return; // a restart passes the moment again
                  done.push(await act(pair));
                  if (crash) await die();
                },
              };
              await h.resolve(2, pair.key, hooks);
              await h.settled(pair.key);
              const [act1] = done;
              if (act1 !== undefined) await moneyIsKept(pair.key, act1);
            }
          }
        }
      });
    }
  });
}

describe("three orders of one number, after two stripes were masked", () => {
  test("all resolvers at once, and payments on all three, leave one order and all the money", async () => {
    for (let round = 0; round < 12; round++) {
      const key = h.key();
      const t1 = await h.create(HOME, key);
      const t2 = await h.create(2, key, { failed: round % 2 === 0 ? [t1] : [] });
      const t3 = await h.create(3, key, { failed: [[], [t1], [t2], [t1, t2]][round % 4] ?? [] });
      const payers = [t1, t2, t3].filter((_, n) => (round >> n) % 2 === 1).map((id) => paid(id));
      await Promise.all([h.resolve(2, key), h.resolve(3, key), h.resolve(2, key), h.resolve(3, key), ...payers]);
      await h.settled(key);
      for (const payer of payers) await moneyIsKept(key, await payer);
    }
  });
});

async function paid(id: string): ReturnType<Act> {
  const { answer, outPayNo } = await h.pay(id);
  return { id, outPayNo, paid: answer.status === 200 };
}
