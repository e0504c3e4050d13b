// One HTTP call to one service instance. The point of this module is to know what a failure means: a request that was
// never written has done nothing; any other failure leaves the outcome unknown.
import type { Dispatcher, Pool } from "undici";
import type { IncomingHttpHeaders, WireOutcome, WireRequest } from "../../runtime/hop/wire-outcome.ts";

/** Answers of services are small; a larger one is not read to its end. */
const ANSWER_BYTES_MAX = 1024 * 1024;

class CallTimeout extends Error {
  override readonly name = "CallTimeout";
}

/** Sends one request and waits at most `timeoutMs` for the whole answer. Never rejects. */
export function callWire(pool: Pool, request: WireRequest, timeoutMs: number): Promise<WireOutcome> {
  return new Promise((resolve) => new Call(pool, request, timeoutMs, resolve));
}

class Call implements Dispatcher.DispatchHandler {
  readonly #resolve: (outcome: WireOutcome) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(pool: Pool, request: WireRequest, timeoutMs: number, resolve: (outcome: WireOutcome) => void) {
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#timedOut(), Math.max(1, timeoutMs));
    const { method, path, headers, body = null } = request;
    try {
      const typed = body === null ? headers : { ...headers, "content-type": "application/json" };
      pool.dispatch({ method, path, headers: typed, body }, this);
    } catch {
      // The pool is closed: its instance has just left the routing table.
      this.#settle({ kind: "unwritten", reason: "refused" });
    }
  }

  #settle(outcome: WireOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#resolve(outcome);
  }

  #timedOut(): void {
    if (this.#controller === undefined) return this.#settle({ kind: "unwritten", reason: "connect_timeout" });
    this.#settle({ kind: "unknown", reason: "timeout" });
    this.#controller.abort(new CallTimeout("no answer in time"));
  }

  /** Called right before the request is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new CallTimeout("given up before it was sent"));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > ANSWER_BYTES_MAX) {
      this.#settle({ kind: "unknown", reason: "bad_answer" });
      return controller.abort(new Error("answer too large"));
    }
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [only] = this.#chunks;
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#size);
    this.#settle({ kind: "answer", status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#controller !== undefined) {
      const parser = (error as { code?: unknown }).code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" || isParserError(error);
      return this.#settle({ kind: "unknown", reason: parser ? "bad_answer" : "connection_lost" });
    }
    const slow = (error as { code?: unknown }).code === "UND_ERR_CONNECT_TIMEOUT";
    this.#settle({ kind: "unwritten", reason: slow ? "connect_timeout" : "refused" });
  }
}

function isParserError(error: Error): boolean {
  return error.name === "HTTPParserError";
}
