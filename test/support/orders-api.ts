// A merchant's view of a cluster, for tests: plain HTTP through supertest, nothing of the code under test but its types.
import supertest from "supertest";
import type { Order, Refund } from "../../core/schemas/orders.ts";

export interface Answer<T = Record<string, unknown>> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;
}

/** Members of a problem document that tests look at. */
export interface ProblemBody {
  readonly code: string;
  readonly detail: string;
  readonly retryable: boolean;
  readonly request_id: string;
  readonly errors?: readonly { pointer: string; issue: string }[];
  readonly order?: Order;
  readonly conflict?: Readonly<Record<string, unknown>>;
}

let counter = 0;
const run = process.hrtime.bigint().toString(36);

/** A merchant number that no other test has used. */
export function freshNo(prefix = "T"): string {
  counter += 1;
  return `${prefix}-${run}-${process.pid}-${counter}`;
}

/** A valid create; `overrides` replace members. */
export function createBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    mchid: "test-merchant",
    out_trade_no: freshNo(),
    description: "a cup of tea / 一杯茶",
    amount: { total: 1999, currency: "CNY" },
    ...overrides,
  };
}

export class OrdersApi {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async post<T = ProblemBody>(
    path: string,
    body: object | string = {},
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const request = supertest(this.url).post(path).set("content-type", "application/json").set(headers);
    const { status, body: answer, headers: got } = await request.send(body);
    return { status, body: answer as T, headers: got as Record<string, string> };
  }

  async get<T = ProblemBody>(path: string, headers: Record<string, string> = {}): Promise<Answer<T>> {
    const { status, body, headers: got } = await supertest(this.url).get(path).set(headers);
    return { status, body: body as T, headers: got as Record<string, string> };
  }

  create(overrides: Record<string, unknown> = {}): Promise<Answer<Order & ProblemBody>> {
    return this.post("/v1/orders", createBody(overrides));
  }

  /** Creates an order; throws unless it is new. */
  async created(overrides: Record<string, unknown> = {}): Promise<Order> {
    const answer = await this.create(overrides);
    if (answer.status !== 201) throw new Error(`create answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  order(id: string): Promise<Answer<Order & ProblemBody>> {
    return this.get(`/v1/orders/${id}`);
  }

  pay(id: string, overrides: Record<string, unknown> = {}): Promise<Answer<Order & ProblemBody>> {
    const body = { out_pay_no: freshNo("P"), amount: { total: 1999, currency: "CNY" }, ...overrides };
    return this.post(`/v1/orders/${id}/pay`, body);
  }

  close(id: string): Promise<Answer<Order & ProblemBody>> {
    return this.post(`/v1/orders/${id}/close`);
  }

  refund(id: string, refund: number, overrides: Record<string, unknown> = {}): Promise<Answer<Refund & ProblemBody>> {
    const amount = { refund, total: 1999, currency: "CNY" };
    return this.post(`/v1/orders/${id}/refunds`, { out_refund_no: freshNo("R"), amount, ...overrides });
  }

  refundResult(refundId: string, status: string): Promise<Answer<Refund & ProblemBody>> {
    return this.post(`/v1/refunds/${refundId}/result`, { status });
  }

  /** Creates and pays an order of `total`. */
  async paidOrder(total = 1999): Promise<Order> {
    const amount = { total, currency: "CNY" };
    const { transaction_id: id } = await this.created({ amount });
    const paid = await this.pay(id, { amount });
    if (paid.status !== 200) throw new Error(`pay answered ${paid.status} ${JSON.stringify(paid.body)}`);
    return paid.body;
  }

  async history(
    id: string,
  ): Promise<readonly { event_type: string; version: number; data: Record<string, unknown> }[]> {
    const answer = await this.get<{ events: { event_type: string; version: number; data: Record<string, unknown> }[] }>(
      `/v1/orders/${id}/history`,
    );
    return answer.body.events;
  }
}

/** The stripe that an order number names, read off the digits and not by the code under test. */
export function stripeOf(transactionId: string): number {
  return Number(transactionId.slice(2, 6));
}

/** Runs `count` calls at once and gives their answers in order. */
export function atOnce<T>(count: number, call: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => call(i)));
}
