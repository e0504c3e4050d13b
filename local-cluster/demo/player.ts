// Plays planned orders against the HTTP API and keeps the client's own books of what was acknowledged.
import type { Order } from "../../core/schemas/orders.ts";
import type { DemoClient } from "./client.ts";
import type { PlannedOrder } from "./plan.ts";

export interface Played {
  readonly plan: PlannedOrder;
  /** The answer to the create. */
  readonly created: Order;
  /** Milliseconds of the create that was answered. */
  readonly createMs: number;
  readonly jumpedFrom: string | null;
  /** Minor units that the API acknowledged as paid and as refunded. */
  paid: number;
  refunded: number;
}

const EXPIRE_IN_MS = 75_000;

/** A create's time_expire for an order left to expire: soon, with time for retries above the contract's shortest of 60 s. */
function expiringAt(nowMs: number): string {
  return new Date(nowMs + EXPIRE_IN_MS).toISOString();
}

function expect(what: string, status: number, allowed: readonly number[], body: unknown): void {
  if (!allowed.includes(status)) throw new Error(`${what}: unexpected ${status} ${JSON.stringify(body)}`);
}

export class Player {
  readonly #client: DemoClient;
  readonly #nowMs: () => number;

  /** @param nowMs wall clock, for `time_expire` */
  constructor(client: DemoClient, nowMs: () => number) {
    this.#client = client;
    this.#nowMs = nowMs;
  }

  /** Creates the order and takes it to its fate. @throws Error on any answer that the contract does not allow here */
  async play(plan: PlannedOrder): Promise<Played> {
    const request = plan.fate === "expire" ? { ...plan.order, time_expire: expiringAt(this.#nowMs()) } : plan.order;
    const answer = await this.#client.send("POST", "/v1/orders", request, plan.impatient);
    expect("create", answer.status, answer.tries > 1 ? [200, 201] : [201], answer.body);
    const created = answer.body as unknown as Order;
    const jumped = answer.headers["jumped-from"];
    const played: Played = {
      plan: { ...plan, order: request },
      created,
      createMs: answer.ms,
      jumpedFrom: jumped === undefined ? null : String(jumped),
      paid: 0,
      refunded: 0,
    };
    if (plan.repeatsCreate) await this.#repeat(request, created);
    if (plan.fate === "pay") await this.#pay(played);
    if (plan.fate === "close") await this.#close(played);
    return played;
  }

  async #repeat(request: object, created: Order): Promise<void> {
    const again = await this.#client.send("POST", "/v1/orders", request);
    expect("repeated create", again.status, [200, 201], again.body);
    if (again.status === 200 && again.headers["idempotent-replayed"] !== "true") {
      throw new Error(`a replay of ${created.transaction_id} is not marked`);
    }
  }

  async #pay(played: Played): Promise<void> {
    const { transaction_id: id, amount } = played.created;
    const path = `/v1/orders/${id}`;
    const pay = {
      out_pay_no: `pay-${id}`,
      amount: { total: amount.total, currency: amount.currency },
      channel: "demo",
    };
    const paid = await this.#client.send("POST", `${path}/pay`, pay, played.plan.impatient);
    expect("pay", paid.status, [200], paid.body);
    played.paid = amount.total;
    for (const [i, refund] of played.plan.refunds.entries()) {
      const money = { refund, total: amount.total, currency: amount.currency };
      const body = { out_refund_no: `refund-${id}-${i}`, amount: money, reason: "商品缺货 / out of stock" };
      const made = await this.#client.send("POST", `${path}/refunds`, body);
      expect("refund", made.status, [200, 201], made.body);
      const result = `/v1/refunds/${String(made.body.refund_id)}/result`;
      const done = await this.#client.send("POST", result, { status: "SUCCESS" });
      expect("refund result", done.status, [200], done.body);
      played.refunded += refund;
    }
  }

  async #close(played: Played): Promise<void> {
    const closed = await this.#client.send("POST", `/v1/orders/${played.created.transaction_id}/close`, {});
    const by = (closed.body.conflict as { superseded_by?: string } | undefined)?.superseded_by;
    if (closed.status !== 409 || by === undefined) return expect("close", closed.status, [200], closed.body);
    const survivor = await this.#client.send("POST", `/v1/orders/${by}/close`, {});
    expect("close of the order that stands", survivor.status, [200], survivor.body);
  }
}
