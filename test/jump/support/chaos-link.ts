// A real HTTP hop in front of a stripe's service that misbehaves as it is told, differently for each caller if need be:
// what two proxies see of one stripe may differ, and so their masks do.
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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

export class ChaosLink implements AsyncDisposable {
  readonly #target: string;
  #server: Server | undefined;
  #port = 0;
  readonly #onTheWay = new Set<Promise<void>>();
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
    this.#server = createServer((req, res) => {
      const way = this.#serve(req, res).catch(() => {
        res.destroy();
      });
      this.#onTheWay.add(way);
      void way.finally(() => this.#onTheWay.delete(way));
    });
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

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const id = String(req.headers["request-id"] ?? "");
    const path = (req.url ?? "").split("?")[0] ?? "";
    const fault = this.judge({ what: `${req.method ?? ""} ${path}`, source: id.split(".")[0] ?? "" });
    if (fault?.kind === "reset") return void res.destroy();
    if (fault?.kind === "late") await sleep(fault.ms, this.#cut.signal);
    const answer = await this.#forward(req, Buffer.concat(chunks));
    if (fault !== undefined) return void res.destroy();
    res.writeHead(answer.status, answer.headers);
    res.end(answer.body);
  }

  #forward(
    req: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage["headers"]; body: Buffer }> {
    const { method, url = "", headers } = req;
    return new Promise((resolve, reject) => {
      const onward = request(this.#target + url, { method: method ?? "GET", headers }, (answer) => {
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
