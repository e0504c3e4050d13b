// A running stripe service on a database of its own, and the cluster's side of its HTTP.
import { randomInt } from "node:crypto";
import { Agent, request } from "undici";
import { type StripeNo, stripeNo } from "../../core/ids.ts";
import { requestHash } from "../../core/order-content.ts";
import { mintTransactionId } from "../../core/order-number.ts";
import { bucketOf } from "../../core/placement.ts";
import { Hop } from "../../runtime/hop/hop.ts";
import type { CreateOrder, Order } from "../../core/schemas/orders.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { kernelPort } from "../../local-cluster/free-port.ts";
import { Deadline, sleep, wallNowMs } from "../../runtime/clock.ts";
import { configFrom } from "../../stripe-service/config.ts";
import { StripeService } from "../../stripe-service/service.ts";
import { freshNo } from "./orders-api.ts";
import { startStripeDatabase, type StripeDatabase, type StripeSeed } from "./stripe-database.ts";

const POLL_MS = 5;
const ANSWER_MAX_MS = 20_000;

export interface StripeAnswer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of many shapes
  readonly body: any;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface HarnessOptions extends Partial<StripeSeed> {
  /** Environment of every instance. */
  readonly env?: Readonly<Record<string, string>>;
  readonly instances?: number;
  readonly mysqldOptions?: readonly string[];
}

/** Resolves when `condition` holds. @throws Error naming `what` when it does not within `maxMs` */
export async function until(what: string, maxMs: number, condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = new Deadline(maxMs);
  while (!(await condition())) {
    if (deadline.passed) throw new Error(`not within ${maxMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}

/** Calls one instance as a proxy does. */
export class StripeClient {
  readonly url: string;
  readonly #place: number;
  readonly #agent = new Agent({ connections: 256 });
  #hop: Hop | undefined;

  constructor(url: string, place: number) {
    this.url = url;
    this.#place = place;
  }

  async call(
    method: "GET" | "POST" | "PUT",
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<StripeAnswer> {
    const response = await request(`${this.url}${INTERNAL_BASE}${path}`, {
      method,
      headers: { "stripe-place": String(this.#place), "content-type": "application/json", ...headers },
      body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: text === "" ? null : JSON.parse(text), headers: response.headers };
  }

  /** The same by the hop, as proxies and health checkers ask. */
  async byHop(method: "GET" | "POST", path: string, body?: unknown): Promise<StripeAnswer> {
    this.#hop ??= new Hop(this.url, ANSWER_MAX_MS);
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const request_ = { method, path, headers: { "stripe-place": String(this.#place) }, ...text };
    const outcome = await this.#hop.call(request_, ANSWER_MAX_MS);
    if (outcome.kind !== "answer") throw new Error(`${outcome.kind}: ${outcome.reason}`);
    return { status: outcome.status, body: JSON.parse(outcome.body.toString("utf8")), headers: outcome.headers };
  }

  get(path: string, headers?: Readonly<Record<string, string>>): Promise<StripeAnswer> {
    return this.call("GET", path, undefined, headers);
  }

  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<StripeAnswer> {
    return this.call("POST", path, body, headers);
  }

  pay(id: string, body: Record<string, unknown> = {}): Promise<StripeAnswer> {
    return this.post(`/orders/${id}/pay`, {
      out_pay_no: freshNo("P"),
      amount: { total: 100, currency: "CNY" },
      ...body,
    });
  }

  close(id: string): Promise<StripeAnswer> {
    return this.post(`/orders/${id}/close`);
  }

  refund(id: string, refund: number, extra: Record<string, unknown> = {}): Promise<StripeAnswer> {
    return this.post(`/orders/${id}/refunds`, {
      out_refund_no: freshNo("R"),
      amount: { refund, total: 100, currency: "CNY" },
      ...extra,
    });
  }

  async stop(): Promise<void> {
    this.#hop?.destroy();
    await this.#agent.destroy();
  }
}

export class StripeHarness implements AsyncDisposable {
  readonly database: StripeDatabase;
  readonly #services: StripeService[] = [];
  readonly #clients: StripeClient[] = [];
  #sequence = randomInt(1_000_000);

  private constructor(database: StripeDatabase) {
    this.database = database;
  }

  /** A database and `instances` services (one by default). */
  static async start(options: HarnessOptions = {}): Promise<StripeHarness> {
    const database = await startStripeDatabase({ stripe: 7, ...options }, options.mysqldOptions);
    const harness = new StripeHarness(database);
    try {
      for (let i = 0; i < (options.instances ?? 1); i++) await harness.addInstance(options.env);
      return harness;
    } catch (error) {
      await harness[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Environment of an instance of this stripe. */
  env(port: number, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { target, stripe, place } = this.database;
    return {
      PORT: String(port),
      STRIPE: String(stripe),
      PLACE: String(place),
      DB_WRITER_HOST: target.host,
      DB_WRITER_PORT: String(target.port),
      DB_READER_HOST: target.host,
      DB_READER_PORT: String(target.port),
      DB_USER: target.user,
      DB_PASSWORD: target.password,
      ...extra,
    };
  }

  async addInstance(extra: Readonly<Record<string, string>> = {}): Promise<StripeClient> {
    const port = await kernelPort();
    const service = StripeService.create(configFrom(this.env(port, extra)));
    this.#services.push(service);
    await service.start();
    const client = new StripeClient(`http://127.0.0.1:${port}`, this.database.place);
    this.#clients.push(client);
    return client;
  }

  /** The first instance. */
  get api(): StripeClient {
    const [first] = this.#clients;
    if (first === undefined) throw new Error("there is no instance");
    return first;
  }

  get stripe(): StripeNo {
    return stripeNo(this.database.stripe);
  }

  nextId(): string {
    this.#sequence += 1;
    return mintTransactionId(this.stripe, wallNowMs(), this.#sequence);
  }

  /** The wire form of a create of 100 CNY; `order` replaces members of the order, `wire` of the envelope. */
  wire(order: Partial<CreateOrder> = {}, wire: Record<string, unknown> = {}): Record<string, unknown> {
    const whole: CreateOrder = {
      mchid: "m1",
      out_trade_no: freshNo(),
      description: "tea",
      amount: { total: 100, currency: "CNY" },
      ...order,
    };
    return {
      transaction_id: this.nextId(),
      bucket: bucketOf({ mchid: whole.mchid, outTradeNo: whole.out_trade_no }),
      as: "HOME",
      failed: [],
      request_hash: requestHash(whole),
      order: whole,
      ...wire,
    };
  }

  /** An order that has just been created. */
  async created(order: Partial<CreateOrder> = {}): Promise<Order> {
    const answer = await this.api.post("/orders", this.wire(order));
    if (answer.status !== 201) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
    return answer.body as Order;
  }

  async paid(order: Partial<CreateOrder> = {}): Promise<Order> {
    const { transaction_id: id } = await this.created(order);
    return (await this.api.pay(id)).body as Order;
  }

  /** One value of one row. */
  async value(statement: string, values: readonly unknown[] = []): Promise<unknown> {
    const [row] = await this.database.sql(statement, values);
    return row === undefined ? undefined : Object.values(row)[0];
  }

  /** Kinds of the journal's rows of an order, in order. */
  async events(id: string): Promise<unknown[]> {
    const rows = await this.database.sql("SELECT event_type FROM order_events WHERE transaction_id = ? ORDER BY seq", [
      id,
    ]);
    return rows.map((row) => row.event_type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.stop();
    for (const service of this.#services) await service[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}

/** Runs `work` n times at once. */
export function atOnce<T>(n: number, work: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: n }, (_, i) => work(i)));
}

/** How often each status was answered. */
export function tally(answers: readonly StripeAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const key = status < 400 ? String(status) : `${status} ${String(body.code)}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
