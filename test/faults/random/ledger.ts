// What clients were told, kept per merchant number: acknowledged, refused for certain, or unknown.
import { NOTHING_WRITTEN } from "../../../core/errors.ts";
import type { Order, Refund } from "../../../core/schemas/orders.ts";

export const TOTAL = 1_000;
export const REFUND = 300;

export type Outcome = "untried" | "acked" | "refused" | "unknown";

export interface Answer {
  /** 0: no answer. */
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly readSource: string;
}

/** One write under one number, with everything that was answered to it. */
export class Write {
  readonly number: string;
  outcome: Outcome = "untried";
  tries = 0;

  constructor(number: string) {
    this.number = number;
  }

  get isAcked(): boolean {
    return this.outcome === "acked";
  }

  /** @returns what is wrong with the answer; null when a fault allows it */
  told({ status, body }: Answer): string | null {
    this.tries += 1;
    const code = typeof body["code"] === "string" ? body["code"] : "";
    if (status === 200 || status === 201) this.outcome = "acked";
    else if (NOTHING_WRITTEN.has(code)) this.outcome = this.outcome === "untried" ? "refused" : this.outcome;
    else if (status === 0 || status >= 500) this.outcome = this.outcome === "acked" ? "acked" : "unknown";
    else return `${this.number}: answered ${status} ${JSON.stringify(body)}`;
    return null;
  }
}

export class OrderEntry {
  readonly create: Write;
  readonly pay: Write;
  readonly refund: Write;
  readonly body: object;
  id: string | null = null;
  refundId: string | null = null;
  /** The newest state that was acknowledged. */
  told: Order | null = null;

  constructor(number: string, mchid: string) {
    this.create = new Write(number);
    this.pay = new Write(`P${number}`);
    this.refund = new Write(`R${number}`);
    const amount = { total: TOTAL, currency: "CNY" };
    this.body = { mchid, out_trade_no: number, description: `round ${mchid} / 一杯茶`, amount };
  }

  get writes(): readonly Write[] {
    return [this.create, this.pay, this.refund];
  }

  /** Takes an acknowledged order. @returns what is wrong with it, or null */
  takeOrder(order: Order): string | null {
    if (this.id !== null && this.id !== order.transaction_id)
      return `${this.create.number}: was ${this.id}, now ${order.transaction_id}`;
    this.id = order.transaction_id;
    if (this.told === null || order.version >= this.told.version) this.told = order;
    return null;
  }

  takeRefund(refund: Refund): string | null {
    if (this.refundId !== null && this.refundId !== refund.refund_id)
      return `${this.refund.number}: was ${this.refundId}, now ${refund.refund_id}`;
    this.refundId = refund.refund_id;
    return null;
  }
}

export class OrderLedger {
  readonly mchid: string;
  readonly entries: OrderEntry[] = [];
  /** Answers that no fault allows. */
  readonly wrong: string[] = [];
  answers = 0;
  queries = 0;
  /** Answers that leave open whether the write was made. */
  doubts = 0;

  constructor(mchid: string) {
    this.mchid = mchid;
  }

  open(): OrderEntry {
    const entry = new OrderEntry(`${this.mchid}-${this.entries.length}`, this.mchid);
    this.entries.push(entry);
    return entry;
  }

  count(outcome: Outcome): number {
    return this.entries.reduce((n, { writes }) => n + writes.filter((write) => write.outcome === outcome).length, 0);
  }

  note(problem: string | null): void {
    if (problem !== null) this.wrong.push(problem);
  }
}
