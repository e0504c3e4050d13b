// What goes wrong in a round: stripes away for one proxy or for all, answers lost, requests that arrive late, resolvers
// that die or dawdle, buckets that move and movers that die. All drawn from the round's seed.
import type { Random } from "../../../local-cluster/demo/random.ts";
import { moveBucket } from "../../../ops/bucket-move/move-bucket.ts";
import { sleep } from "../../../runtime/clock.ts";
import type { Fault, Passing } from "../support/chaos-link.ts";
import { type JumpCluster, STRIPES } from "../support/jump-cluster.ts";

const STEPS = ["1", "2", "3", "4a"];
const LATE_MAX_MS = 900;

export class Weather {
  readonly #cluster: JumpCluster;
  readonly #random: Random;
  /** Stripes that a source cannot reach: "stripe source", or "stripe *" for everybody. */
  readonly #away = new Set<string>();
  #noise = 0;
  #calm = false;

  constructor(cluster: JumpCluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
    for (const stripe of STRIPES) cluster.link(stripe).judge = (passing) => this.#judge(stripe, passing);
  }

  #judge(stripe: number, { what, source }: Passing): Fault | undefined {
    if (this.#calm) return undefined;
    const random = this.#random;
    if (this.#away.has(`${stripe} ${source}`) || this.#away.has(`${stripe} *`)) {
      // Away for those who ask; some of what they sent arrives all the same, now or later.
      const fate = random.next();
      if (what !== "POST /internal/v1/orders" || fate < 0.5) return { kind: "reset" };
      return fate < 0.75 ? { kind: "drop-answer" } : { kind: "late", ms: random.integer(100, LATE_MAX_MS) };
    }
    if (!random.chance(this.#noise)) return undefined;
    return random.pick<Fault>([
      { kind: "reset" },
      { kind: "drop-answer" },
      { kind: "late", ms: random.integer(50, LATE_MAX_MS) },
    ]);
  }

  /** Blows until `untilMs` have passed. @param buckets those of the round's numbers */
  async blow(ms: number, buckets: readonly number[]): Promise<void> {
    const random = this.#random;
    const end = new AbortController();
    const all = [this.#outages(end.signal), this.#slips(end.signal), this.#moves(end.signal, buckets)];
    this.#noise = random.pick([0, 0.02, 0.1]);
    await sleep(ms);
    end.abort();
    await Promise.all(all);
  }

  /** Everything heals: what is on its way arrives, nothing new goes wrong. */
  async heal(): Promise<void> {
    this.#calm = true;
    await this.#cluster.disarm();
    for (const link of this.#cluster.links.values()) {
      await link.open();
      await link.quiet();
    }
  }

  async #outages(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const random = this.#random;
      await sleep(random.integer(20, 300), end);
      if (end.aborted) return;
      const stripe = random.pick(STRIPES);
      if (random.chance(0.2)) {
        await this.#cluster.link(stripe).refuse();
        await sleep(random.integer(50, 500), end);
        await this.#cluster.link(stripe).open();
        continue;
      }
      const who = `${stripe} ${random.pick(["*", "*", "a", "b"])}`;
      this.#away.add(who);
      await sleep(random.integer(100, 900), end);
      this.#away.delete(who);
    }
  }

  async #slips(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const random = this.#random;
      await sleep(random.integer(50, 400), end);
      if (end.aborted) return;
      const rule = random.pick([
        { point: `resolver.after-step-${random.pick(STEPS)}`, action: "kill" },
        { point: `resolver.before-step-${random.pick(STEPS)}`, action: "delay", ms: random.integer(50, 800) },
        { point: `answer.${random.pick(["claim", "supersede", "repoint", "create", "pay"])}`, action: "drop" },
        { point: "create.before-begin", action: "delay", ms: random.integer(50, LATE_MAX_MS) },
        { point: "import.before-begin", action: "delay", ms: random.integer(50, 500) },
      ] as const);
      await this.#cluster.arm({ ...rule, times: random.integer(1, 3) });
    }
  }

  async #moves(end: AbortSignal, buckets: readonly number[]): Promise<void> {
    while (!end.aborted) {
      const random = this.#random;
      await sleep(random.integer(50, 700), end);
      if (end.aborted) return;
      const dead = random.pick(["import", "fence", "page", "activate", "none", "none", "none"]);
      const mover = this.#cluster.mover((step) =>
        step === dead ? Promise.reject(new Error("the mover dies")) : Promise.resolve(),
      );
      const target = { partition: "standard", bucket: random.pick(buckets), to: random.pick(STRIPES) };
      const runs = random.chance(0.3) ? [mover, this.#cluster.mover()] : [mover];
      await Promise.all(runs.map((run) => moveBucket(run, target).catch(() => undefined)));
    }
  }
}
