// Merchants and payers of a round: they send the same create again and again, pay what they were told of, and remember
// every answer.
import type { Random } from "../../../local-cluster/demo/random.ts";
import { sleep } from "../../../runtime/clock.ts";
import { freshNo, type OrdersApi } from "../../support/orders-api.ts";

export interface Payment {
  readonly id: string;
  readonly outPayNo: string;
  /** `unknown`: no answer that says anything, at the last try. */
  readonly outcome: "paid" | "refused" | "unknown";
}

export interface GivenBack {
  readonly id: string;
  readonly outRefundNo: string;
  readonly total: number;
}

/** What was seen in answers of the round. */
export class Seen {
  /** Order numbers told in a 2xx answer, by merchant number. */
  readonly told = new Map<string, Set<string>>();
  readonly payments: Payment[] = [];
  /** Refunds that were answered 201 or 200. */
  readonly refunds: GivenBack[] = [];
  answers = 0;
  /** Answers that no fault allows. */
  readonly wrong: string[] = [];

  tell(outTradeNo: string, id: string): void {
    const ids = this.told.get(outTradeNo) ?? new Set<string>();
    this.told.set(outTradeNo, ids.add(id));
  }
}

const GIVEN_BACK = 30;
const ALLOWED: ReadonlySet<number> = new Set([200, 201, 409, 500, 503, 504]);
const REFUSED: ReadonlySet<string> = new Set(["ORDER_PAID", "ORDER_CLOSED", "ORDER_EXPIRED"]);

export interface Part {
  readonly proxies: readonly OrdersApi[];
  readonly random: Random;
  readonly seen: Seen;
  readonly mchid: string;
  readonly end: AbortSignal;
}

let calls = 0;

/** One of the two proxies, and the id by which its calls are known on the way. */
function entry({ proxies, random }: Part): { api: OrdersApi; headers: Record<string, string> } {
  const n = random.integer(0, proxies.length - 1);
  calls += 1;
  return { api: proxies[n] as OrdersApi, headers: { "request-id": `${n === 0 ? "a" : "b"}.${calls}` } };
}

/** Creates, again and again; may pay or close what it is told of. */
export async function merchant(part: Part, outTradeNo: string, description: string): Promise<void> {
  const { random, seen, end, mchid } = part;
  const pays: Promise<void>[] = [];
  while (!end.aborted) {
    await sleep(random.integer(0, 250), end);
    const id = await createOnce(part, outTradeNo, description);
    if (id === undefined) continue;
    seen.tell(outTradeNo, id);
    if (random.chance(0.3)) pays.push(payer(part, id));
    else if (random.chance(0.08)) await closeOnce(part, id);
    else if (random.chance(0.1)) await lookUpOnce(part, outTradeNo, mchid);
  }
  await Promise.all(pays);
}

/** @returns the number told, if one was */
export async function createOnce(part: Part, outTradeNo: string, description: string): Promise<string | undefined> {
  const { api, headers } = entry(part);
  const body = {
    mchid: part.mchid,
    out_trade_no: outTradeNo,
    description,
    amount: { total: 100, currency: "CNY" },
  };
  const answer = await api.post<{ transaction_id: string; superseded_by?: string; code?: string }>(
    "/v1/orders",
    body,
    headers,
  );
  note(part, "create", answer.status, answer.body);
  if (answer.status > 201) return undefined;
  return answer.body.superseded_by ?? answer.body.transaction_id;
}

/** Pays until the answer is certain, or a few times past the end of the round. */
async function payer(part: Part, id: string): Promise<void> {
  const outPayNo = freshNo("P");
  const body = { out_pay_no: outPayNo, amount: { total: 100, currency: "CNY" } };
  for (let triesPastEnd = 0; triesPastEnd < 3; ) {
    const { api, headers } = entry(part);
    const answer = await api.post<{ code?: string }>(`/v1/orders/${id}/pay`, body, headers);
    note(part, "pay", answer.status, answer.body);
    if (answer.status === 200) {
      part.seen.payments.push({ id, outPayNo, outcome: "paid" });
      return part.random.chance(0.5) ? giveBack(part, id) : undefined;
    }
    if (answer.status === 409 && REFUSED.has(answer.body.code ?? "")) {
      return void part.seen.payments.push({ id, outPayNo, outcome: "refused" });
    }
    if (part.end.aborted) triesPastEnd += 1;
    await sleep(part.random.integer(20, 200));
  }
  part.seen.payments.push({ id, outPayNo, outcome: "unknown" });
}

/** Gives a part back until the answer is certain; of a superseded order too. Now and then twice at once. */
async function giveBack(part: Part, id: string): Promise<void> {
  const outRefundNo = freshNo("R");
  const body = { out_refund_no: outRefundNo, amount: { refund: GIVEN_BACK, total: 100, currency: "CNY" } };
  for (let triesPastEnd = 0; triesPastEnd < 3; ) {
    const calls = part.random.chance(0.2) ? [1, 2] : [1];
    const answers = await Promise.all(
      calls.map(async () => {
        const { api, headers } = entry(part);
        const answer = await api.post(`/v1/orders/${id}/refunds`, body, headers);
        note(part, "refund", answer.status, answer.body);
        return answer.status;
      }),
    );
    if (answers.some((status) => status === 200 || status === 201))
      return void part.seen.refunds.push({ id, outRefundNo, total: GIVEN_BACK });
    if (part.end.aborted) triesPastEnd += 1;
    await sleep(part.random.integer(20, 200));
  }
}

async function closeOnce(part: Part, id: string): Promise<void> {
  const { api, headers } = entry(part);
  const answer = await api.post(`/v1/orders/${id}/close`, {}, headers);
  note(part, "close", answer.status, answer.body);
}

async function lookUpOnce(part: Part, outTradeNo: string, mchid: string): Promise<void> {
  const { api, headers } = entry(part);
  const answer = await api.get<{ code?: string }>(`/v1/orders/out-trade-no/${outTradeNo}?mchid=${mchid}`, headers);
  // The number was told before: whatever is away, nobody may say that it does not exist.
  note(part, "look-up", answer.status, answer.body);
}

function note({ seen }: Part, what: string, status: number, body: object): void {
  seen.answers += 1;
  if (!ALLOWED.has(status)) seen.wrong.push(`${what} answered ${status} ${JSON.stringify(body)}`);
}
