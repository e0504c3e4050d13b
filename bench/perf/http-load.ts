// The load of the bench as a process of its own: keep-alive connections with one request in flight each, written by hand
// so that the load costs the machine little. The parent says what to run, and is told rates, latencies and numbers.
import { connect, type Socket } from "node:net";
import { monotonicMs } from "../../runtime/clock.ts";
import { bucketOf } from "../../core/placement.ts";
import { createBody, mchidOf, MERCHANTS, payBody } from "./content.ts";
import type { LoadOrder, LoadResult } from "./load.ts";

const ERRORS_KEPT = 10;
/** Times that one caller connects anew. */
const BROKEN_MAX = 100;
const HEAD_END = "\r\n\r\n";

interface Next {
  readonly bytes: string;
  /** What the answer's status must be. */
  readonly expected: number;
  readonly keepId: boolean;
}

/** Means the same to every server, and is not what nearly all clients send. */
const UNUSUAL = "Accept: application/json;q=1\r\n";

/** @param host its value, and further header lines, each with its line end */
function requestOf(method: string, host: string, path: string, body: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}`;
  if (method === "GET") return `${head}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Makes the requests of one run. */
class Requests {
  readonly #order: LoadOrder;
  readonly #host: string;
  /** The homes that there are. */
  readonly #stripes: readonly number[];
  readonly #run = process.hrtime.bigint().toString(36);
  #count = 0;

  constructor(order: LoadOrder, host: string) {
    this.#order = order;
    this.#host = host;
    this.#stripes = [...new Set(order.homes)].sort((a, b) => a - b);
  }

  /** Undefined: there is nothing more to ask. @param caller 0, 1, … */
  next(caller: number): Next | undefined {
    this.#count += 1;
    const n = this.#count;
    switch (this.#order.kind) {
      case "create":
        return this.#create(this.#order.homes === undefined ? n : this.#atHome(n, caller, this.#order.homes));
      case "pay": {
        const id = this.#order.ids[n - 1];
        return id === undefined ? undefined : this.#pay(id, n);
      }
      case "query": {
        const { ids } = this.#order;
        return this.#get(ids[(n * 7919) % ids.length] ?? "");
      }
      case "mixed":
        return this.#mixed(n);
    }
  }

  /** Of ten requests four create, three pay orders that were there before, three query. */
  #mixed(n: number): Next | undefined {
    const { ids } = this.#order;
    const of = n % 10;
    if (of < 4) return this.#create(n);
    const id = ids[Math.floor(n / 10) * 3 + (of - 4)];
    if (of >= 7) return this.#get(ids[(n * 7919) % ids.length] ?? "");
    return id === undefined ? undefined : this.#pay(id, n);
  }

  /** The next count whose order has the caller's stripe for its home. */
  #atHome(from: number, caller: number, homes: readonly number[]): number {
    const stripe = this.#stripes[caller % this.#stripes.length];
    const isThere = (n: number): boolean =>
      homes[bucketOf({ mchid: mchidOf(n % MERCHANTS), outTradeNo: this.#outTradeNo(n) })] === stripe;
    let n = from;
    while (!isThere(n)) n += 1;
    this.#count = n;
    return n;
  }

  #outTradeNo(n: number): string {
    return `${this.#run}-${n}`;
  }

  #create(n: number): Next {
    const body = createBody(n % MERCHANTS, this.#outTradeNo(n));
    return { bytes: requestOf("POST", this.#host, "/v1/orders", body), expected: 201, keepId: true };
  }

  #pay(id: string, n: number): Next {
    const body = payBody(`p-${this.#run}-${n}`);
    return { bytes: requestOf("POST", this.#host, `/v1/orders/${id}/pay`, body), expected: 200, keepId: false };
  }

  #get(id: string): Next {
    return { bytes: requestOf("GET", this.#host, `/v1/orders/${id}`, ""), expected: 200, keepId: false };
  }
}

class Run {
  readonly #requests: Requests;
  readonly #latencies: number[] = [];
  readonly #ids: string[] = [];
  readonly #errors: string[] = [];
  #failed = 0;
  #endMs = 0;
  readonly #order: LoadOrder;

  constructor(order: LoadOrder) {
    this.#order = order;
    const { host } = new URL(order.urls[0] ?? "");
    this.#requests = new Requests(order, order.unusual === true ? `${host}\r\n${UNUSUAL}` : `${host}\r\n`);
  }

  async go(): Promise<LoadResult> {
    const startMs = monotonicMs();
    this.#endMs = startMs + this.#order.ms;
    const { connections, urls } = this.#order;
    await Promise.all(
      Array.from({ length: connections }, (_, i) => this.#connection(i, new URL(urls[i % urls.length] ?? ""))),
    );
    const sorted = Float64Array.from(this.#latencies).sort();
    const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * q) - 1)] ?? 0;
    return {
      done: sorted.length,
      failed: this.#failed,
      errors: this.#errors,
      seconds: (monotonicMs() - startMs) / 1000,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
      ids: this.#ids,
      ...(this.#order.withLatencies === true ? { latencies: sorted } : {}),
    };
  }

  /** One caller: one request in flight. A connection that breaks has failed one request, and is made again. */
  async #connection(caller: number, url: URL): Promise<void> {
    for (let broken = 0; !(await this.#untilBroken(caller, url)); broken++) {
      this.#fail("the connection was lost");
      if (broken >= BROKEN_MAX) return;
    }
  }

  /** @returns whether everything was asked; false: the connection broke */
  #untilBroken(caller: number, url: URL): Promise<boolean> {
    return new Promise((resolve) => {
      const socket: Socket = connect(Number(url.port), url.hostname);
      socket.setNoDelay(true);
      let asked: Next | undefined;
      let askedMs = 0;
      let text = "";
      const ask = (): void => {
        asked = monotonicMs() < this.#endMs ? this.#requests.next(caller) : undefined;
        if (asked === undefined) {
          resolve(true);
          return void socket.destroy();
        }
        askedMs = monotonicMs();
        socket.write(asked.bytes);
      };
      socket.on("connect", ask);
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
        const headEnd = text.indexOf(HEAD_END);
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
        if (text.length < headEnd + HEAD_END.length + length) return;
        this.#answered(text, headEnd, asked, monotonicMs() - askedMs);
        text = "";
        ask();
      });
      socket.on("error", () => resolve(false));
      socket.on("end", () => socket.destroy());
      socket.on("close", () => resolve(false));
    });
  }

  #fail(what: string): void {
    this.#failed += 1;
    if (this.#errors.length < ERRORS_KEPT) this.#errors.push(what);
  }

  #answered(text: string, headEnd: number, asked: Next | undefined, ms: number): void {
    if (Number(text.slice(9, 12)) !== asked?.expected) {
      return this.#fail(text.slice(headEnd, headEnd + 300).trim());
    }
    this.#latencies.push(ms);
    if (!asked.keepId) return;
    const from = text.indexOf('"transaction_id":"', headEnd) + 18;
    this.#ids.push(text.slice(from, from + 28));
  }
}

process.on("message", (order: LoadOrder) => {
  new Run(order).go().then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
process.on("disconnect", () => process.exit(0));
