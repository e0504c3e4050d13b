import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { HealthCheckerConfig } from "../../health-checker/config.ts";
import { ERROR_CATALOGUE } from "../../core/errors.ts";
import { HealthChecker } from "../../health-checker/service.ts";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Order } from "../../core/schemas/orders.ts";
import { type Answer, atOnce, type ProblemBody } from "../support/orders-api.ts";
import { Link } from "./support/link.ts";
import {
  homeOf,
  LIMITS,
  numberAt,
  type RunningProxy,
  type Stack,
  STRIPES,
  stripeIn,
  until,
  withStack,
} from "./support/stack.ts";

process.env.LOG_LEVEL ??= "silent";

/** Whoever is shed comes back later, sooner than told. */
const PAUSE_MS = 200;
const PROBES = /\/internal\/v1\/probes/;
const CREATE = /POST \/internal\/v1\/orders$/;
const away = { kind: "answer", status: 503, body: { code: "STRIPE_UNAVAILABLE", detail: "", status: 503 } } as const;

let stack: Stack;
withStack((started) => {
  stack = started;
});

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? 0;
}

/** What refusals there were. */
function kinds(answers: readonly Answer<Order & ProblemBody>[]): Set<string> {
  return new Set(
    answers.map(({ status, body, headers }) => `${status} ${body.code}, retry after ${headers["retry-after"]} s`),
  );
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const startMs = monotonicMs();
  return [await work(), monotonicMs() - startMs];
}

function startChecker(name: string): Promise<HealthChecker> {
  const config: HealthCheckerConfig = {
    host: "127.0.0.1",
    port: 0,
    instance: name,
    owner: name,
    control: stack.control,
    triples: [],
    agentApiToken: null,
    routingCacheFile: null,
    probeIntervalMs: 300,
    probeTimeoutMs: 600,
    faultPoints: false,
    recordLostConfirmed: [],
  };
  const checker = HealthChecker.create(config);
  return checker.start().then(() => checker);
}

describe("verdicts and creates", () => {
  let checkers: HealthChecker[];
  let proxy: RunningProxy;
  before(async () => {
    checkers = await Promise.all(["checker-1", "checker-2"].map(startChecker));
    const checkerUrls = checkers.map(({ port }) => `http://127.0.0.1:${port}`);
    proxy = await stack.proxy({ checkerUrls });
    await until(async () => (await proxy.metric("proxy_health_checkers")) === 2, "both checkers heard");
    await until(async () => (await verdicts()).every((v) => v === "healthy"), "all healthy");
  });
  after(async () => {
    await proxy.stop();
    for (const checker of checkers) await checker[Symbol.asyncDispose]();
  });

  async function verdicts(): Promise<string[]> {
    const answer = await fetch(`http://127.0.0.1:${checkers[0]?.port}/verdicts`);
    const { stripes } = (await answer.json()) as { stripes: { verdict: string; latency_ms: number | null }[] };
    return stripes.length === STRIPES.length ? stripes.map(({ verdict }) => verdict) : ["incomplete"];
  }

  /** How many stripes are called unhealthy, or whether this one is. */
  const unhealthy = (stripe?: number): Promise<number> =>
    proxy.metric(stripe === undefined ? "proxy_stripe_unhealthy" : `proxy_stripe_unhealthy{stripe="${stripe}"`);

  async function unhealthyJumps(): Promise<number> {
    const from = (stripe: number): Promise<number> =>
      proxy.metric(`proxy_jumps_total{from="${stripe}",reason="unhealthy"`);
    return (await Promise.all(STRIPES.map(from))).reduce((a, b) => a + b);
  }

  async function createMany(count: number): Promise<{ stripes: number[]; ms: number }> {
    const [answers, ms] = await timed(() => atOnce(count, () => proxy.api.create()));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    return { stripes: answers.map(({ body }) => stripeIn(body.transaction_id)), ms };
  }

  test("with probes blocked and nothing else creates go on at full rate, and at most half of the stripes are passed over", async () => {
    await createMany(60);
    const usual = await createMany(60);
    for (const stripe of [1, 2]) stack.link(stripe).inject({ kind: "hang" }, PROBES);
    await until(async () => (await unhealthy()) === 2, "two stripes are called unhealthy");
    const then = await createMany(60);
    const used = new Set(then.stripes);
    assert.ok(used.size >= 2 && used.has(3), `stripes ${[...used].join()}`);
    assert.ok(then.ms < 3 * usual.ms + 500, `${then.ms} ms, usually ${usual.ms} ms`);
    assert.equal(await proxy.metric("proxy_stripe_masked"), 0, "no call of the proxy failed");
  });

  test("with the probes of every stripe blocked the checkers know nothing, and every stripe counts as healthy", async () => {
    for (const stripe of STRIPES) stack.link(stripe).inject({ kind: "hang" }, PROBES);
    await until(async () => (await verdicts()).every((v) => v === "unknown"), "all unknown");
    await until(async () => (await unhealthy()) === 0, "the proxy has heard it");
    const jumps = await unhealthyJumps();
    await until(async () => new Set((await createMany(30)).stripes).size === 3, "all stripes are used");
    assert.equal(await unhealthyJumps(), jumps);
  });

  test("an unhealthy home is passed over before a create has lost time on it, and is used again when it is well", async () => {
    await until(async () => (await unhealthy()) === 0, "nobody is called unhealthy");
    stack.link(2).inject({ kind: "hang" });
    await until(async () => (await unhealthy(2)) === 1, "stripe 2 is called unhealthy");
    const from = 'proxy_jumps_total{from="2",reason="unhealthy"';
    const before = await proxy.metric(from);
    await until(async () => {
      const answer = await proxy.api.create({ out_trade_no: numberAt(2) });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.match(answer.headers["jumped-from"] ?? "", /\b2\b/);
      return (await proxy.metric(from)) > before;
    }, "jumps for that reason");
    await stack.heal();
    await until(async () => (await unhealthy(2)) === 0, "stripe 2 is well");
    await until(async () => {
      const { body } = await proxy.api.create({ out_trade_no: numberAt(2) });
      return stripeIn(body.transaction_id) === 2;
    }, "stripe 2 takes its creates");
  });

  test("a stripe that sheds reads is well, one that fails them is not", async () => {
    await until(async () => (await verdicts()).every((v) => v === "healthy"), "all are well");
    const queries = /GET \/internal\/v1\/probes/;
    const shed = { kind: "answer", status: 503, body: { code: "OVERLOADED", detail: "", status: 503 } } as const;
    stack.link(1).inject(shed, queries);
    stack.link(2).inject(away, queries);
    await until(async () => (await verdicts())[1] === "unhealthy", "stripe 2 is called unhealthy");
    assert.equal((await verdicts())[0], "healthy");
  });

  test("a number that an unhealthy home knows is recognised there", async () => {
    const no = numberAt(1);
    const first = await proxy.api.create({ out_trade_no: no });
    stack.link(1).inject({ kind: "hang" }, PROBES);
    await until(async () => (await unhealthy(1)) === 1, "stripe 1 is called unhealthy");
    const again = await proxy.api.create({ out_trade_no: no });
    assert.deepEqual([again.status, again.body.transaction_id], [200, first.body.transaction_id]);
  });

  test("every change is kept with its reason, and shown newest first", async () => {
    const path = `http://127.0.0.1:${checkers[0]?.port}/verdicts?history=50`;
    const read = async () =>
      (
        (await (await fetch(path)).json()) as {
          changes?: { checker: string; to: string; reason: string; time: string }[];
        }
      ).changes ?? [];
    await until(async () => (await read()).some(({ to }) => to === "unhealthy"), "kept");
    const changes = await read();
    assert.deepEqual(new Set(changes.map(({ checker }) => checker)), new Set(["checker-1", "checker-2"]));
    assert.ok(changes.every(({ reason }) => reason !== ""));
    const times = changes.map(({ time }) => time);
    assert.ok(Date.parse(times[0] ?? "") >= Date.parse(times.at(-1) ?? ""));
  });

  test("checkers that fall silent keep their word for a while, then every stripe counts as healthy", async () => {
    stack.link(3).inject({ kind: "hang" }, PROBES);
    await until(async () => (await unhealthy(3)) === 1, "stripe 3 is called unhealthy");
    const beganMs = monotonicMs();
    await Promise.all(checkers.splice(0).map((checker) => checker[Symbol.asyncDispose]()));
    const kept = await unhealthy(3);
    if (monotonicMs() - beganMs < LIMITS.verdictKeepMs) assert.equal(kept, 1);
    await until(async () => (await proxy.metric("proxy_health_checkers")) === 0, "forgotten");
    assert.equal(await unhealthy(), 0);
  });
});

/** Stripe 2 with three instances, and a proxy that knows them; one of them is to go bad. */
async function threeInstances(): Promise<AsyncDisposable & { readonly bad: Link; readonly proxy: RunningProxy }> {
  const target = stack.link(2).target;
  const links = await Promise.all([1, 2, 3].map(() => new Link(target).open()));
  const own = JSON.stringify([stack.link(2).url]);
  const version = await stack.route(2, { services: JSON.stringify(links.map(({ url }) => url)) });
  const proxy = await stack.proxy();
  await proxy.routed(version);
  const [bad] = links as [Link, Link, Link];
  return {
    bad,
    proxy,
    [Symbol.asyncDispose]: async () => {
      await proxy.stop();
      await stack.route(2, { services: own });
      for (const link of links) await link[Symbol.asyncDispose]();
    },
  };
}

describe("instances of a stripe", () => {
  test("one bad instance of three is avoided without leaving the stripe, whatever is wrong with it", async () => {
    await using three = await threeInstances();
    const { bad, proxy } = three;
    await proxy.api.created({ out_trade_no: numberAt(2) });
    const [, usualMs] = await timed(() => atOnce(10, () => proxy.api.create({ out_trade_no: numberAt(2) })));
    for (const fault of [{ kind: "hang" }, away, { kind: "reset" }] as const) {
      await proxy.api.created({ out_trade_no: numberAt(2) });
      bad.inject(fault);
      const answers = await atOnce(20, () => proxy.api.create({ out_trade_no: numberAt(2) }));
      assert.deepEqual(
        new Set(answers.map((a) => [a.status, stripeIn(a.body.transaction_id)].join())),
        new Set(["201,2"]),
      );
      const [, avoidedMs] = await timed(() => atOnce(10, () => proxy.api.create({ out_trade_no: numberAt(2) })));
      assert.ok(avoidedMs < 3 * usualMs + 400, `avoided, yet it took ${avoidedMs} ms, usually ${usualMs} ms`);
      await bad.heal();
    }
    assert.equal(await proxy.metric("proxy_jumps_total"), 0);
  });
});

describe("an instance that answers quickly and wrongly", () => {
  for (const code of ["STRIPE_UNAVAILABLE", "STRIPE_READ_ONLY", "OVERLOADED", "MISDIRECTED", "SYSTEM_ERROR"] as const) {
    test(`${code}: it draws no calls to itself, and nobody is told`, async () => {
      await using three = await threeInstances();
      const { bad, proxy } = three;
      const ids: string[] = [];
      for (let i = 0; i < 20; i++) ids.push((await proxy.api.created({ out_trade_no: numberAt(2) })).transaction_id);
      const { status } = ERROR_CATALOGUE[code];
      bad.inject({ kind: "answer", status, body: { code, detail: "", status } });
      const answers = await atOnce(ids.length, async (i) => {
        const id = ids[i] ?? "";
        const read = await proxy.api.order(id);
        const paid = await proxy.api.pay(id);
        const created = await proxy.api.create({ out_trade_no: numberAt(2) });
        return [read.status, paid.status, created.status, stripeIn(created.body.transaction_id)].join();
      });
      assert.deepEqual(new Set(answers), new Set(["200,200,201,2"]));
      assert.equal(await proxy.metric("proxy_jumps_total"), 0);
    });
  }
});

/** Bytes of the heap that are in use, after what is not has been collected. */
function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

describe("a slow stripe", () => {
  test("answering in two seconds takes neither the others' time nor the proxy's memory, and is shed early", async () => {
    const proxy = await stack.proxy({ limits: { stripeInFlightMax: 256 } });
    const at = async (stripe: number): Promise<string> =>
      (await proxy.api.created({ out_trade_no: numberAt(stripe) })).transaction_id;
    const ids = new Map(await Promise.all(STRIPES.map(async (s) => [s, await at(s)] as const)));
    const readOthers = async (ms: number): Promise<number> => {
      const taken: number[] = [];
      const deadline = new Deadline(ms);
      await atOnce(4, async (i) => {
        while (!deadline.passed) {
          const [answer, took] = await timed(() => proxy.api.order(ids.get(i % 2 === 0 ? 1 : 3) ?? ""));
          assert.equal(answer.status, 200);
          taken.push(took);
        }
      });
      return quantile(taken, 0.99);
    };
    await readOthers(500);
    const usualMs = await readOthers(1_000);
    stack.link(2).inject({ kind: "delay", ms: 2_000 });
    const heapBefore = heapInUse();
    const slow: Answer<Order & ProblemBody>[] = [];
    let on = true;
    const onSlow = atOnce(60, async () => {
      while (on) {
        const answer = await proxy.api.order(ids.get(2) ?? "");
        slow.push(answer);
        if (answer.status !== 200) await sleep(PAUSE_MS);
      }
    });
    const limit = (): Promise<number> => proxy.metric('proxy_stripe_in_flight_limit{stripe="2"');
    await until(async () => (await limit()) < 60, "the limit shrinks");
    await until(async () => slow.some(({ status }) => status === 503), "callers are shed");
    const duringMs = await readOthers(1_500);
    const inFlight = await proxy.metric('proxy_stripe_in_flight{stripe="2"');
    on = false;
    await onSlow;
    assert.ok(inFlight < 60, `${inFlight} in flight`);
    const shed = slow.filter(({ status }) => status !== 200);
    assert.deepEqual(kinds(shed), new Set(["503 OVERLOADED, retry after 1 s"]));
    assert.ok(duringMs < 5 * usualMs + 50, `p99 of the others ${duringMs} ms, usually ${usualMs} ms`);
    slow.length = 0;
    const grown = (heapInUse() - heapBefore) / 2 ** 20;
    assert.ok(grown < 8, `the heap grew by ${grown} MiB`);
    await proxy.stop();
  });
});

describe("a slow home", () => {
  for (const ms of [900, 2_000]) {
    test(`${ms} ms: a merchant who is alone is not refused while other stripes are idle`, async () => {
      const proxy = await stack.proxy({ limits: { stripeInFlightMax: 256 } });
      await atOnce(20, () => proxy.api.created());
      stack.link(1).inject({ kind: "delay", ms }, CREATE);
      const limit = (): Promise<number> => proxy.metric('proxy_stripe_in_flight_limit{stripe="1"');
      const answers: Answer<Order & ProblemBody>[] = [];
      let on = true;
      const load = atOnce(80, async () => {
        while (on) {
          const answer = await proxy.api.create({ out_trade_no: numberAt(1) });
          answers.push(answer);
          if (answer.status !== 201) await sleep(PAUSE_MS);
        }
      });
      await until(async () => (await limit()) < 40, "the limit shrinks");
      const from = answers.length;
      await until(() => Promise.resolve(answers.length > from + 300), "300 more creates");
      on = false;
      await load;
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
      await proxy.stop();
    });
  }
});

describe("fairness", () => {
  test("a merchant who sends the same creates again and again leaves room for others", async () => {
    const proxy = await stack.proxy({ limits: { requestsInFlightMax: 128, stripeInFlightMax: 64 } });
    await atOnce(20, () => proxy.api.created());
    stack.link(1).inject({ kind: "delay", ms: 900 }, CREATE);
    const numbers = Array.from({ length: 10 }, () => numberAt(1, "hot"));
    let on = true;
    const hot: Answer<Order & ProblemBody>[] = [];
    const load = atOnce(160, async (i) => {
      while (on) {
        const answer = await proxy.api.create({ mchid: "hot", out_trade_no: numbers[i % numbers.length] ?? "" });
        hot.push(answer);
        if (answer.status > 201) await sleep(PAUSE_MS);
      }
    });
    await until(() => Promise.resolve(hot.some(({ status }) => status === 429)), "the hot merchant is shed");
    const quiet = [];
    for (let i = 0; i < 20; i++) quiet.push(await proxy.api.create({ mchid: `quiet-${i}` }));
    on = false;
    await load;
    assert.deepEqual(new Set(quiet.map(({ status }) => status)), new Set([201]));
    await proxy.stop();
  });

  test("queries that fill a stripe leave room for payments", async () => {
    const proxy = await stack.proxy({ limits: { stripeInFlightMax: 64 } });
    await atOnce(20, () => proxy.api.created());
    const { transaction_id: asked } = await proxy.api.created({ out_trade_no: numberAt(2) });
    const ids = await atOnce(10, async () => (await proxy.api.created({ out_trade_no: numberAt(2) })).transaction_id);
    stack.link(2).inject({ kind: "delay", ms: 100 }, /GET /);
    let on = true;
    const reads: number[] = [];
    const load = atOnce(200, async () => {
      while (on) {
        const { status } = await proxy.api.order(asked);
        reads.push(status);
        if (status !== 200) await sleep(PAUSE_MS);
      }
    });
    await until(() => Promise.resolve(reads.includes(503)), "queries are shed");
    const pays = [];
    for (const id of ids) pays.push((await proxy.api.pay(id)).status);
    on = false;
    await load;
    assert.deepEqual(new Set(pays), new Set([200]));
    await proxy.stop();
  });

  test("a hot merchant is shed first, with 429; others are served meanwhile", async () => {
    const proxy = await stack.proxy({ limits: { stripeInFlightMax: 8, stripeInFlightMin: 8 } });
    await atOnce(3, () => proxy.api.created());
    for (const stripe of STRIPES) stack.link(stripe).inject({ kind: "delay", ms: 300 }, CREATE);
    let on = true;
    const hot: Answer<Order & ProblemBody>[] = [];
    const load = atOnce(40, async () => {
      while (on) {
        const answer = await proxy.api.create({ mchid: "hot" });
        hot.push(answer);
        if (answer.status !== 201) await sleep(PAUSE_MS);
      }
    });
    await until(() => Promise.resolve(hot.some(({ status }) => status === 429)), "the hot merchant is shed");
    const quiet = [];
    for (let i = 0; i < 6; i++) quiet.push(await proxy.api.create({ mchid: `quiet-${i}` }));
    on = false;
    await load;
    assert.deepEqual(new Set(quiet.map(({ status }) => status)), new Set([201]));
    const shed = hot.filter(({ status }) => status !== 201);
    assert.deepEqual(kinds(shed), new Set(["429 RATELIMIT_EXCEEDED, retry after 1 s"]));
    assert.ok((await proxy.metric("proxy_shed_total")) > 0);
    await proxy.stop();
  });
});

describe("balance", () => {
  test("the creates of a failed stripe spread evenly over the rest, those of one hot merchant too", async () => {
    const proxy = await stack.proxy();
    await atOnce(6, () => proxy.api.created());
    await stack.link(2).refuse();
    const took = new Map<number, number>();
    for (let round = 0; round < 15; round++) {
      const orders = await atOnce(20, () => proxy.api.created({ out_trade_no: numberAt(2) }));
      for (const { transaction_id: id, out_trade_no: no } of orders) {
        assert.equal(homeOf(no), 2);
        took.set(stripeIn(id), (took.get(stripeIn(id)) ?? 0) + 1);
      }
    }
    // 300 fair coins: three standard deviations are 26.
    assert.deepEqual(
      [...took.keys()].sort((a, b) => a - b),
      [1, 3],
    );
    for (const count of took.values()) assert.ok(Math.abs(count - 150) <= 30, `${[...took].join(" ")}`);
    await proxy.stop();
  });
});
