// Creates without end, as many at a time as there are workers, and what came of each.
import { Agent, request } from "undici";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const CALL_TIMEOUT_MS = 5_000;
/** Leaves the machine some air: this is about failures and waits, not about throughput. */
const PAUSE_MS = 4;
const MERCHANTS = 200;

export interface Create {
  /** Monotonic milliseconds. */
  readonly beganMs: number;
  readonly tookMs: number;
  /** 0 when there was no answer. */
  readonly status: number;
  /** Stripe of the order; 0 without one. */
  readonly stripe: number;
  /** Stripes that would not take it. */
  readonly jumpedFrom: readonly number[];
}

export class CreateLoad {
  readonly #urls: readonly string[];
  readonly #run: string;
  readonly #agent: Agent;
  readonly #workers: Promise<void>[];
  readonly creates: Create[] = [];
  readonly failures: string[] = [];
  #on = true;
  #count = 0;

  /** @param run makes the merchant numbers of this run its own */
  constructor(urls: readonly string[], run: string, workers: number) {
    this.#urls = urls;
    this.#run = run;
    this.#agent = new Agent({ connections: workers });
    this.#workers = Array.from({ length: workers }, () => this.#work());
  }

  async stop(): Promise<void> {
    this.#on = false;
    await Promise.all(this.#workers);
    await this.#agent.close();
  }

  async #work(): Promise<void> {
    while (this.#on) {
      this.#count += 1;
      await this.#create(this.#count);
      await sleep(PAUSE_MS);
    }
  }

  async #create(n: number): Promise<void> {
    const beganMs = monotonicMs();
    const order = {
      mchid: `bench-${n % MERCHANTS}`,
      out_trade_no: `${this.#run}-${n}`,
      description: "jump bench",
      amount: { total: 1999, currency: "CNY" },
    };
    try {
      const answer = await request(`${this.#urls[n % this.#urls.length]}/v1/orders`, {
        method: "POST",
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        headers: { "content-type": "application/json" },
        body: JSON.stringify(order),
      });
      const body = (await answer.body.json()) as { transaction_id?: string; code?: string };
      const stripe = Number(body.transaction_id?.slice(2, 6) ?? 0);
      const jumpedFrom = String(answer.headers["jumped-from"] ?? "")
        .split(",")
        .map(Number)
        .filter((s) => s > 0);
      this.#note(
        { beganMs, tookMs: monotonicMs() - beganMs, status: answer.statusCode, stripe, jumpedFrom },
        body.code,
      );
    } catch (error) {
      const tookMs = monotonicMs() - beganMs;
      this.#note({ beganMs, tookMs, status: 0, stripe: 0, jumpedFrom: [] }, (error as Error).message);
    }
  }

  #note(create: Create, why: string | undefined): void {
    this.creates.push(create);
    if (create.status !== 201) this.failures.push(`${create.status} ${why ?? ""}`);
  }
}
