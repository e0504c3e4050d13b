// Clients of the failover bench: creates on all stripes, pays on one, and books of what was acknowledged.
import { Agent, request } from "undici";
import { monotonicMs, sleep } from "../../runtime/clock.ts";

const CALL_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 10;
/** The load of a machine that is busy and not full: what is measured is how soon orders go on, not who gets the processor. */
const CREATE_PAUSE_MS = 40;
const PAY_PAUSE_MS = 20;
const AMOUNT = { total: 1999, currency: "CNY" };

/** One answered pay. Times are monotonic milliseconds. */
export interface PayTry {
  readonly beganMs: number;
  readonly endedMs: number;
  /** HTTP status; 0 when the connection was lost. */
  readonly status: number;
  /** Error code of the answer, empty for a success. */
  readonly code: string;
}

export class FailoverLoad {
  readonly #urls: readonly string[];
  readonly #run: string;
  readonly #agent = new Agent({ connections: 64 });
  readonly #stock = new Map<number, string[]>();
  readonly #paying: number;
  readonly #full: boolean;
  #on = true;
  #count = 0;
  #workers: Promise<unknown> = Promise.resolve();
  /** The stripe whose orders are paid now; null pauses the payers. */
  victim: number | null = null;
  /** Answers to creates that were not 201. */
  readonly failedCreates: string[] = [];
  creates = 0;
  readonly paid: string[] = [];
  pays: PayTry[] = [];

  /** @param full without pauses: as much as the machine can do */
  constructor(urls: readonly string[], run: string, creators: number, payers: number, full: boolean) {
    this.#full = full;
    this.#urls = urls;
    this.#run = run;
    this.#paying = payers;
    const workers = [
      ...Array.from({ length: creators }, () => this.#create()),
      ...Array.from({ length: payers }, () => this.#pay()),
    ];
    this.#workers = Promise.all(workers);
  }

  /** Orders of a stripe that can still be paid. */
  stock(stripe: number): number {
    return this.#stock.get(stripe)?.length ?? 0;
  }

  get payers(): number {
    return this.#paying;
  }

  async stop(): Promise<void> {
    this.#on = false;
    await this.#workers;
  }

  /** Reads every acknowledged payment back. @returns the orders that are not paid */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const id of this.paid) {
      const { status, body } = await this.#call("GET", `/v1/orders/${id}`);
      if (status !== 200 || body.trade_state !== "SUCCESS") lost.push(id);
    }
    await this.#agent.close();
    return lost;
  }

  async #create(): Promise<void> {
    while (this.#on) {
      this.#count += 1;
      const order = { mchid: `bench-${this.#count % 50}`, out_trade_no: `${this.#run}-${this.#count}`, amount: AMOUNT };
      const { status, body } = await this.#call("POST", "/v1/orders", { ...order, description: "failover bench" });
      this.creates += 1;
      if (status !== 201) this.failedCreates.push(`${status} ${String(body.code)}`);
      else this.#keep(String(body.transaction_id));
      await sleep(this.#full ? 1 : CREATE_PAUSE_MS);
    }
  }

  #keep(id: string): void {
    const stripe = Number(id.slice(2, 6));
    const ids = this.#stock.get(stripe) ?? [];
    ids.push(id);
    this.#stock.set(stripe, ids);
  }

  async #pay(): Promise<void> {
    while (this.#on) {
      const id = this.victim === null ? undefined : this.#stock.get(this.victim)?.pop();
      if (id === undefined) await sleep(RETRY_PAUSE_MS);
      else {
        await this.#payOne(id);
        if (!this.#full) await sleep(PAY_PAUSE_MS);
      }
    }
  }

  async #payOne(id: string): Promise<void> {
    for (;;) {
      const beganMs = monotonicMs();
      const pay = { out_pay_no: `p-${id}`, amount: AMOUNT };
      const { status, body } = await this.#call("POST", `/v1/orders/${id}/pay`, pay);
      const code = status === 200 ? "" : typeof body.code === "string" ? body.code : "NO_ANSWER";
      this.pays.push({ beganMs, endedMs: monotonicMs(), status, code });
      if (status === 200) this.paid.push(id);
      if (status === 200 || !this.#on) return;
      await sleep(RETRY_PAUSE_MS);
    }
  }

  async #call(method: "GET" | "POST", path: string, body?: object) {
    const url = this.#urls[this.#count % this.#urls.length];
    try {
      const answer = await request(`${url}${path}`, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
    } catch {
      return { status: 0, body: {} as Record<string, unknown> };
    }
  }
}
