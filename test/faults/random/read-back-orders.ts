// What must hold of a round's orders: read over HTTP as a merchant does, and counted in the source's tables.
import { isDeepStrictEqual } from "node:util";
import type { Order } from "../../../core/schemas/orders.ts";
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { type Api, send, type Step } from "./clients.ts";
import { type Answer, type OrderEntry, type OrderLedger, REFUND, TOTAL } from "./ledger.ts";
import type { FaultStand } from "./stand.ts";

const PARALLEL = 12;
const DECIDED_MAX_MS = 30_000;
const RETRY_MS = 50;
const SCHEMA = "stripe_0001_p1";

/** Every acknowledged write is present and equal, refused ones are absent, nothing is there twice. */
export async function ordersBroken(stand: FaultStand, api: Api, ledger: OrderLedger): Promise<string[]> {
  const broken: string[] = [];
  await inParallel(ledger.entries, async (entry) => {
    const answer = await certain(() => ask(api, ledger, entry));
    broken.push(...brokenOrder(entry, answer));
  });
  broken.push(...(await brokenTables(stand, ledger)));
  return broken;
}

function ask(api: Api, ledger: OrderLedger, entry: OrderEntry): Promise<Answer> {
  if (entry.id !== null) return api.order(entry.id);
  return api.call("GET", `/v1/orders/out-trade-no/${entry.create.number}?mchid=${ledger.mchid}`);
}

function brokenOrder(entry: OrderEntry, { status, body }: Answer): string[] {
  const { create, pay, refund, told } = entry;
  const tell = (what: string): string[] => [`${create.number} ${entry.id ?? ""}: ${what}, answer ${status}`];
  if (status !== 200 && status !== 404) return tell("cannot be read");
  const order = status === 200 ? (body as unknown as Order) : null;
  if (create.outcome === "acked" && order === null) return tell("acknowledged and lost");
  if (create.outcome === "refused" && order !== null) return tell("refused and there all the same");
  if (create.outcome === "untried" && order !== null) return tell("never sent and there");
  if (order === null) return [];
  const paid = order.trade_state === "SUCCESS" || order.trade_state === "REFUND";
  const broken: string[] = [];
  if (told !== null && order.version < told.version) broken.push(...tell(`is older than acknowledged`));
  if (told !== null && order.version === told.version && !isDeepStrictEqual(order, told))
    broken.push(...tell(`differs: ${JSON.stringify(order)} from ${JSON.stringify(told)}`));
  if (pay.outcome === "acked" && (!paid || order.out_pay_no !== pay.number))
    broken.push(...tell("its payment is lost"));
  if ((pay.outcome === "refused" || pay.outcome === "untried") && paid) broken.push(...tell("paid all the same"));
  const back = order.amount.refunded + order.amount.refunding;
  if (refund.outcome === "acked" && back !== REFUND) broken.push(...tell("its refund is lost"));
  if ((refund.outcome === "refused" || refund.outcome === "untried") && back !== 0)
    broken.push(...tell("refunded all the same"));
  if (order.amount.total !== TOTAL || (back !== 0 && back !== REFUND)) broken.push(...tell("the amounts are wrong"));
  return broken;
}

/** Numbers are unique, and there are no more rows than were sent. */
async function brokenTables(stand: FaultStand, { mchid, entries }: OrderLedger): Promise<string[]> {
  const source = await stand.triple.source();
  const broken: string[] = [];
  const rows = async (what: string): Promise<string[]> => {
    const found = await stand.triple.agents.query(source, "viewer", `SELECT ${what}`);
    return found.map((row) => String(row["number"]));
  };
  const of = (mine: string): string => `${mine} AS number FROM ${SCHEMA}`;
  const numbers = {
    orders: await rows(`${of("out_trade_no")}.orders WHERE mchid = '${mchid}'`),
    index: await rows(`${of("out_trade_no")}.merchant_orders WHERE mchid = '${mchid}'`),
    payments: await rows(`${of("out_pay_no")}.payments WHERE out_pay_no LIKE 'P${mchid}-%'`),
    refunds: await rows(`${of("out_refund_no")}.refunds WHERE out_refund_no LIKE 'R${mchid}-%'`),
    excess: await rows(`${of("out_pay_no")}.excess_payments WHERE out_pay_no LIKE 'P${mchid}-%'`),
  };
  const sent = new Set(entries.flatMap(({ writes }) => writes.filter((w) => w.tries > 0).map(({ number }) => number)));
  for (const [table, found] of Object.entries(numbers)) {
    if (new Set(found).size !== found.length) broken.push(`${table}: a number is there twice`);
    const strange = found.filter((number) => !sent.has(number));
    if (strange.length > 0) broken.push(`${table}: ${strange.slice(0, 3).join(", ")} was never sent`);
  }
  if (numbers.excess.length > 0) broken.push(`excess payments: ${numbers.excess.join(", ")}`);
  return broken;
}

/** Sends again whatever is unknown, until it is decided: the answer to the same numbers is then certain. */
export async function settleOrders(api: Api, ledger: OrderLedger): Promise<string[]> {
  const broken: string[] = [];
  const unknown = ledger.entries.flatMap((entry) =>
    (["create", "pay", "refund"] as const)
      .filter((step) => entry[step].outcome === "unknown")
      .map((step) => ({ entry, step })),
  );
  await inParallel(unknown, async ({ entry, step }) => {
    if (!(await decided(api, ledger, entry, step))) broken.push(`${entry[step].number}: is never decided`);
  });
  return [...broken, ...ledger.wrong.splice(0)];
}

async function decided(api: Api, ledger: OrderLedger, entry: OrderEntry, step: Step): Promise<boolean> {
  const deadline = new Deadline(DECIDED_MAX_MS);
  const write = entry[step];
  for (;;) {
    await send(api, ledger, entry, step);
    if (write.isAcked) return true;
    if (deadline.passed) return false;
    await sleep(RETRY_MS);
  }
}

/** The first answer that is not "not now". */
async function certain(call: () => Promise<Answer>): Promise<Answer> {
  const deadline = new Deadline(DECIDED_MAX_MS);
  for (;;) {
    const answer = await call();
    const now = answer.status !== 0 && answer.status < 500 && answer.status !== 429 && answer.readSource !== "replica";
    if (now || deadline.passed) return answer;
    await sleep(RETRY_MS);
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
