// The service's side of the hop: calls of one proxy on one connection, each run as if it had come alone, answered in the
// order in which they are ready.
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { DomainError, ERROR_CATALOGUE } from "../../core/errors.ts";
import {
  answerFrame,
  BadFrame,
  type Frame,
  FrameReader,
  HOP_PATH,
  HOP_PROTOCOL,
  type HopCall,
  type HopHeaders,
  type HopShape,
  type HopTarget,
  hopTarget,
  leavingFrame,
  parseCallHead,
} from "../../core/hop.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../../core/problem.ts";
import { INTERNAL_BASE, WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { sleep } from "../../runtime/clock.ts";
import { FrameWriter } from "../../runtime/hop/frame-writer.ts";
import { requestIdOf } from "../../runtime/http-server.ts";
import { type Endpoint, perform } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { orderEndpoints } from "./order-routes.ts";
import { probeEndpoints } from "./probe-routes.ts";
import { refundEndpoints } from "./refund-routes.ts";
import { type Incoming, requirePlace } from "./request.ts";

/** How long proxies have to end their calls and connections when the service leaves. */
const LEAVE_MAX_MS = 3_000;
/** Calls of one connection that are worked on; one more is refused. */
const CALLS_MAX = 4_096;

/** A call as a request. */
class HopRequest implements Incoming {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly fromProxy = true;
  readonly #query: string;
  readonly #headers: HopHeaders;

  constructor({ path, headers }: HopCall, { shape, number, query }: HopTarget, body: Buffer) {
    this.path = path;
    this.params = paramsOf(shape, number);
    this.body = body;
    this.#query = query;
    this.#headers = headers;
  }

  get query(): Readonly<Record<string, unknown>> {
    return this.#query === "" ? {} : Object.fromEntries(new URLSearchParams(this.#query));
  }

  get(name: string): string | undefined {
    return this.#headers[name];
  }
}

function paramsOf(shape: HopShape, number: string): Readonly<Record<string, string>> {
  if (shape.includes("/refunds/:")) return { refund_id: number };
  return shape.includes("/probes/:") ? { probe_id: number } : { transaction_id: number };
}

export class HopServer {
  readonly #context: HttpContext;
  readonly #endpoints: Readonly<Record<HopShape, Endpoint>>;
  readonly #connections = new Set<Duplex>();
  readonly #writers = new Map<Duplex, FrameWriter>();
  #leaving = false;

  constructor(context: HttpContext) {
    this.#context = context;
    const { create, query, pay, close } = orderEndpoints(context);
    const { refund, refundResult } = refundEndpoints(context);
    const probe = probeEndpoints(context);
    this.#endpoints = {
      "POST /orders": create,
      "GET /orders/:": query,
      "POST /orders/:/pay": pay,
      "POST /orders/:/close": close,
      "POST /orders/:/refunds": refund,
      "POST /refunds/:/result": refundResult,
      "POST /probes": probe.create,
      "GET /probes/:": probe.query,
      "POST /probes/:/close": probe.close,
    };
  }

  attach(server: Server): void {
    server.on("upgrade", (req, socket, head) => this.#upgrade(req, socket, head));
  }

  /** Asks proxies to leave, and waits a while for it. */
  async leave(): Promise<void> {
    this.#leaving = true;
    for (const writer of this.#writers.values()) writer.add(leavingFrame);
    const gone = new AbortController();
    const closed = [...this.#connections].map((socket) => new Promise<void>((done) => socket.once("close", done)));
    await Promise.race([Promise.all(closed), sleep(LEAVE_MAX_MS, gone.signal)]);
    gone.abort();
    for (const socket of this.#connections) socket.destroy();
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const known = req.url === INTERNAL_BASE + HOP_PATH && req.headers.upgrade === HOP_PROTOCOL;
    if (!known || this.#leaving) return void socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${HOP_PROTOCOL}\r\n\r\n`);
    const writer = new FrameWriter(socket);
    const reader = new FrameReader();
    this.#connections.add(socket);
    this.#writers.set(socket, writer);
    let underWay = 0;
    const take = (frame: Frame): void => {
      underWay += 1;
      void this.#answer(frame, underWay > CALLS_MAX).then((answer) => {
        underWay -= 1;
        if (answer === undefined) socket.destroy();
        else writer.add(() => answer);
      });
    };
    const push = (chunk: Buffer): void => {
      try {
        for (const frame of reader.push(chunk)) take(frame);
      } catch (error) {
        if (!(error instanceof BadFrame)) throw error;
        socket.destroy();
      }
    };
    socket.on("data", (chunk: Buffer) => {
      push(chunk);
      if (!writer.full) return;
      socket.pause(); // nothing more is taken from a proxy that does not read
      socket.once("drain", () => socket.resume());
    });
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      this.#connections.delete(socket);
      this.#writers.delete(socket);
    });
    if (head.length > 0) push(head);
  }

  /** Never rejects. @returns undefined when a fault point wants the connection cut */
  async #answer({ id, head, body }: Frame, tooMany: boolean): Promise<Buffer | undefined> {
    const call = parseCallHead(head);
    const requestId = requestIdOf(call.headers[WIRE_HEADERS.requestId]);
    try {
      if (tooMany) throw new DomainError("OVERLOADED", "too many calls on one connection", { retryAfterS: 1 });
      const target = hopTarget(call.method, call.path);
      if (target === undefined) throw new DomainError("NOT_FOUND", `there is no ${call.method} ${call.path} here`);
      const incoming = new HopRequest(call, target, body);
      requirePlace(incoming, this.#context);
      const answer = await perform(this.#context, this.#endpoints[target.shape], incoming, requestId);
      if (answer === undefined) return undefined;
      return answerFrame(id, answer.status, lowerCase(answer.headers), JSON.stringify(answer.body));
    } catch (error) {
      return this.#problem(id, call, requestId, error);
    }
  }

  #problem(id: number, call: HopCall, requestId: string, error: unknown): Buffer {
    const known = error instanceof DomainError;
    if (!known) this.#context.logger.error({ err: error, request_id: requestId, path: call.path }, "unexpected error");
    const shown = known ? error : new DomainError("SYSTEM_ERROR", "something went wrong; the outcome is unknown");
    const { retryAfterS } = shown.extras;
    const headers = {
      "content-type": PROBLEM_MEDIA_TYPE,
      ...(retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) }),
    };
    const path = INTERNAL_BASE + call.path.split("?", 1).join("");
    return answerFrame(
      id,
      ERROR_CATALOGUE[shown.code].status,
      headers,
      JSON.stringify(problemOf(shown, path, requestId)),
    );
  }
}

const NO_HEADERS: HopHeaders = {};

function lowerCase(headers: Readonly<Record<string, string>> | undefined): HopHeaders {
  if (headers === undefined) return NO_HEADERS;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
