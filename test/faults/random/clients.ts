// Clients of a round: each creates an order, pays it, refunds a part of it and asks for it, over HTTP, and goes on with
// the next. What is not answered for certain is sent again with the same numbers, or given up.
import { Agent, request } from "undici";
import type { Order, Refund } from "../../../core/schemas/orders.ts";
import type { Random } from "../../../local-cluster/demo/random.ts";
import { sleep } from "../../../runtime/clock.ts";
import { type Answer, type OrderEntry, type OrderLedger, REFUND, TOTAL, type Write } from "./ledger.ts";

const CALL_TIMEOUT_MS = 4_000;
const CONNECTIONS = 32;
const CURRENCY = "CNY";

export class Api {
  readonly #url: string;
  readonly #agent = new Agent({ connections: CONNECTIONS });

  constructor(url: string) {
    this.#url = url;
  }

  async call(method: "GET" | "POST", path: string, body?: object): Promise<Answer> {
    try {
      const answer = await request(this.#url + path, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      });
      const readSource = String(answer.headers["read-source"] ?? "");
      return { status: answer.statusCode, body: (await answer.body.json()) as Answer["body"], readSource };
    } catch {
      return { status: 0, body: {}, readSource: "" };
    }
  }

  create(entry: OrderEntry): Promise<Answer> {
    return this.call("POST", "/v1/orders", entry.body);
  }

  pay(entry: OrderEntry): Promise<Answer> {
    const body = { out_pay_no: entry.pay.number, amount: { total: TOTAL, currency: CURRENCY } };
    return this.call("POST", `/v1/orders/${entry.id}/pay`, body);
  }

  refund(entry: OrderEntry): Promise<Answer> {
    const amount = { refund: REFUND, total: TOTAL, currency: CURRENCY };
    return this.call("POST", `/v1/orders/${entry.id}/refunds`, { out_refund_no: entry.refund.number, amount });
  }

  order(id: string): Promise<Answer> {
    return this.call("GET", `/v1/orders/${id}`);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

export type Step = "create" | "pay" | "refund";

/** Sends one write once and takes its answer into the ledger. */
export async function send(api: Api, ledger: OrderLedger, entry: OrderEntry, step: Step): Promise<void> {
  const answer = await api[step](entry);
  ledger.answers += 1;
  ledger.note(entry[step].told(answer));
  if (entry[step].outcome === "unknown") ledger.doubts += 1;
  if (answer.status !== 200 && answer.status !== 201) return;
  if (step === "refund") ledger.note(entry.takeRefund(answer.body as unknown as Refund));
  else ledger.note(entry.takeOrder(answer.body as unknown as Order));
}

export class Client {
  readonly #api: Api;
  readonly #ledger: OrderLedger;
  readonly #random: Random;
  readonly #end: AbortSignal;

  constructor(api: Api, ledger: OrderLedger, random: Random, end: AbortSignal) {
    this.#api = api;
    this.#ledger = ledger;
    this.#random = random;
    this.#end = end;
  }

  async run(): Promise<void> {
    while (!this.#end.aborted) {
      const entry = this.#ledger.open();
      if (!(await this.#write(entry, "create"))) continue;
      if (this.#random.chance(0.4)) await this.#query(entry);
      if (this.#random.chance(0.8) && (await this.#write(entry, "pay"))) {
        if (this.#random.chance(0.5)) await this.#query(entry);
        if (this.#random.chance(0.5)) await this.#write(entry, "refund");
      }
      await this.#pause(5, 40);
    }
  }

  /** Until it is acknowledged, given up, or the round ends. Now and then two of the same are on their way. */
  async #write(entry: OrderEntry, step: Step): Promise<boolean> {
    const write: Write = entry[step];
    const patience = this.#random.integer(1, 12);
    for (let tries = 0; tries < patience && !this.#end.aborted; tries++) {
      const twice = this.#random.chance(0.08);
      const calls = twice ? [1, 2] : [1];
      await Promise.all(calls.map(() => send(this.#api, this.#ledger, entry, step)));
      if (write.outcome === "acked") return true;
      await this.#pause(10, 150);
    }
    return false;
  }

  /** An answer from the source is never older than what was acknowledged before the question. */
  async #query(entry: OrderEntry): Promise<void> {
    const { told, id } = entry;
    if (told === null || id === null) return;
    const { status, body, readSource } = await this.#api.order(id);
    this.#ledger.queries += 1;
    if (status === 0 || status >= 500 || status === 429) return;
    const version = Number(body["version"] ?? 0);
    const old = readSource === "primary" && (status !== 200 || version < told.version);
    if (old || (status !== 200 && status !== 404))
      this.#ledger.wrong.push(`query of ${id} (version ${told.version}): ${status} ${readSource} version ${version}`);
  }

  #pause(min: number, max: number): Promise<void> {
    return sleep(this.#random.integer(min, max), this.#end);
  }
}
