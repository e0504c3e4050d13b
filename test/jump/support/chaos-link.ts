// A real hop in front of a stripe's service that misbehaves as it is told, differently for each caller if need be: what
// two proxies see of one stripe may differ, and so their masks do. Calls that share a connection come here by frames, and
// go on to the service one by one.
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { answerFrame, type Frame, FrameReader, HOP_PROTOCOL, parseCallHead } from "../../../core/hop.ts";
import { INTERNAL_BASE } from "../../../core/schemas/wire.ts";
import { sleep } from "../../../runtime/clock.ts";

export type Fault =
  /** The connection is closed, the service never sees the request. */
  | { readonly kind: "reset" }
  /** The service does its work, its answer is thrown away. */
  | { readonly kind: "drop-answer" }
  /** The caller hears nothing until it gives up; the service gets the request after `ms`. */
  | { readonly kind: "late"; readonly ms: number };

export interface Passing {
  /** "POST /internal/v1/orders". */
  readonly what: string;
  /** Who it comes from: the part of the request's id before its first dot. */
  readonly source: string;
}

interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class ChaosLink implements AsyncDisposable {
  readonly #target: string;
  #server: Server | undefined;
  #port = 0;
  readonly #onTheWay = new Set<Promise<void>>();
  readonly #shared = new Set<Duplex>();
  readonly #cut = new AbortController();
  /** Asked for each request. */
  judge: (passing: Passing) => Fault | undefined = () => undefined;

  constructor(target: string) {
    this.#target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the port it had before. */
  async open(): Promise<this> {
    if (this.#server !== undefined) return this;
    this.#server = createServer((req, res) => this.#track(this.#serve(req, res), res));
    this.#server.on("upgrade", (_req, socket) => this.#share(socket));
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Connections are refused, and those that are open are reset. */
  async refuse(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    for (const socket of this.#shared) socket.destroy();
    await closed;
  }

  /** Resolves when no request is on its way any more. */
  async quiet(): Promise<void> {
    while (this.#onTheWay.size > 0) await Promise.all(this.#onTheWay);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cut.abort();
    await this.refuse();
  }

  #track(way: Promise<void>, caller: ServerResponse | Duplex): void {
    const tracked = way.catch(() => {
      caller.destroy();
    });
    this.#onTheWay.add(tracked);
    void tracked.finally(() => this.#onTheWay.delete(tracked));
  }

  #share(socket: Duplex): void {
    this.#shared.add(socket);
    socket.on("close", () => this.#shared.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${HOP_PROTOCOL}\r\n\r\n`);
    const reader = new FrameReader();
    socket.on("data", (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) this.#track(this.#frame(socket, frame), socket);
    });
  }

  async #frame(socket: Duplex, { id, head, body }: Frame): Promise<void> {
    const { method, path, headers } = parseCallHead(head);
    const answer = await this.#pass({ method, url: INTERNAL_BASE + path, headers: { ...headers }, body });
    if (answer === "lost") return void socket.destroy();
    if (answer === undefined || socket.destroyed) return;
    socket.write(
      answerFrame(id, answer.status, answer.headers as Record<string, string>, answer.body.toString("utf8")),
    );
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = req;
    const answer = await this.#pass({ method, url, headers, body: Buffer.concat(chunks) });
    if (answer === "lost" || answer === undefined) return void res.destroy();
    res.writeHead(answer.status, answer.headers);
    res.end(answer.body);
  }

  /** @returns the service's answer; `lost`: the caller loses its connection; undefined: it never hears of it */
  async #pass(call: Call): Promise<Answer | "lost" | undefined> {
    const path = call.url.split("?")[0] ?? "";
    const [source = ""] = String(call.headers["request-id"] ?? "").split(".");
    const fault = this.judge({ what: `${call.method} ${path}`, source });
    if (fault?.kind === "reset") return "lost";
    if (fault?.kind === "late") await sleep(fault.ms, this.#cut.signal);
    const answer = await this.#forward(call);
    if (fault?.kind === "drop-answer") return "lost";
    return fault === undefined ? answer : undefined;
  }

  #forward({ method, url, headers, body }: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onward = request(this.#target + url, { method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: Buffer.concat(chunks) }),
        );
      });
      onward.on("error", reject);
      onward.end(body);
    });
  }
}
