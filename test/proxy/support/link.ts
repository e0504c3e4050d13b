// A real hop in front of a real stripe service that can misbehave on order: hang, drop the connection before or after the
// service did its work, refuse connections, answer in its own words. Everything else passes unchanged. Calls that share
// a connection come here by frames, and go on to the service one by one.
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import {
  answerFrame,
  FrameReader,
  type Frame,
  type HopHeaders,
  HOP_PROTOCOL,
  parseCallHead,
} from "../../../core/hop.ts";
import { INTERNAL_BASE } from "../../../core/schemas/wire.ts";

export type Fault =
  /** Reads the request and never answers. */
  | { readonly kind: "hang" }
  /** Reads the request and closes the connection; the service never sees it. */
  | { readonly kind: "reset" }
  /** The service does its work; its answer is thrown away and the connection closed. */
  | { readonly kind: "drop-answer" }
  /** The service does its work; half of its answer arrives. */
  | { readonly kind: "cut-answer" }
  /** The service gets the request only after a while. */
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "answer"; readonly status: number; readonly body: object; readonly headers?: object };

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export class Link implements AsyncDisposable {
  /** Requests in the order in which they came. */
  readonly seen: Seen[] = [];
  readonly target: string;
  #server: Server | undefined;
  #port = 0;
  readonly #hops = new Set<Duplex>();
  #faults: { readonly on: RegExp; readonly fault: Fault; left: number }[] = [];

  constructor(target: string) {
    this.target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens; on the port it had, when it refused connections in between. */
  async open(): Promise<this> {
    if (this.#server !== undefined) return this;
    this.#server = createServer((req, res) => void this.#serve(req, res));
    this.#server.on("upgrade", (_req, socket) => this.#hop(socket));
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** From now on connections are refused, and those that are open are reset. */
  async refuse(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    for (const socket of this.#hops) socket.destroy();
    await closed;
  }

  /** Misbehaves on requests whose "METHOD path" matches, `times` times. */
  inject(fault: Fault, on: RegExp = /./, times = Number.POSITIVE_INFINITY): void {
    this.#faults.push({ on, fault, left: times });
  }

  /** Behaves again, and forgets what it saw. */
  async heal(): Promise<void> {
    this.#faults = [];
    this.seen.length = 0;
    await this.open();
  }

  /** Bodies of the creates that came here. */
  creates(): { transaction_id: string; as: string; failed: string[] }[] {
    return this.seen
      .filter(({ method, path }) => method === "POST" && path === "/internal/v1/orders")
      .map(({ body }) => JSON.parse(body) as { transaction_id: string; as: string; failed: string[] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.refuse();
  }

  #hop(socket: Duplex): void {
    this.#hops.add(socket);
    socket.setMaxListeners(0); // one for each call that is held
    socket.on("close", () => this.#hops.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${HOP_PROTOCOL}\r\n\r\n`);
    const reader = new FrameReader();
    socket.on("data", (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) this.#frame(socket, frame);
    });
  }

  #frame(socket: Duplex, { id, head, body }: Frame): void {
    const { method, path, headers } = parseCallHead(head);
    const whole = INTERNAL_BASE + path;
    const fault = this.#seen({ method, path: whole, headers, body: body.toString("utf8") });
    if (fault?.kind === "hang") return;
    if (fault?.kind === "reset") return void socket.destroy();
    if (fault?.kind === "answer") {
      const passed = fault.headers as Record<string, string> | undefined;
      return void socket.write(answerFrame(id, fault.status, passed ?? {}, JSON.stringify(fault.body)));
    }
    if (fault?.kind === "delay") {
      const timer = setTimeout(() => this.#forwardFrame(socket, id, { method, whole, headers }, body, fault), fault.ms);
      socket.once("close", () => clearTimeout(timer));
      return;
    }
    this.#forwardFrame(socket, id, { method, whole, headers }, body, fault);
  }

  #forwardFrame(
    socket: Duplex,
    id: number,
    { method, whole, headers }: { readonly method: string; readonly whole: string; readonly headers: HopHeaders },
    body: Buffer,
    fault: Fault | undefined,
  ): void {
    const onward = request(this.target + whole, { method, headers: { ...headers } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        if (fault?.kind === "drop-answer") return void socket.destroy();
        const got = Buffer.concat(chunks).toString("utf8");
        const frame = answerFrame(id, answer.statusCode ?? 502, answer.headers as Record<string, string>, got);
        if (fault?.kind !== "cut-answer") return void socket.write(frame);
        socket.write(frame.subarray(0, frame.length >> 1), () => socket.destroy());
      });
    });
    onward.on("error", () => socket.destroy());
    onward.end(body);
  }

  /** Notes a request. @returns how to misbehave */
  #seen(seen: Seen): Fault | undefined {
    this.seen.push(seen);
    const armed = this.#faults.find(({ on, left }) => left > 0 && on.test(`${seen.method} ${seen.path}`));
    if (armed !== undefined) armed.left -= 1;
    return armed?.fault;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = "", url: path = "", headers } = req;
    const fault = this.#seen({ method, path, headers, body: body.toString("utf8") });
    if (fault?.kind === "hang") return;
    if (fault?.kind === "reset") return void res.destroy();
    if (fault?.kind === "answer") {
      res.writeHead(fault.status, { "content-type": "application/problem+json", ...fault.headers });
      return void res.end(JSON.stringify(fault.body));
    }
    if (fault?.kind === "delay") {
      const timer = setTimeout(() => this.#forward(req, body, res, fault), fault.ms);
      res.once("close", () => clearTimeout(timer));
      return;
    }
    this.#forward(req, body, res, fault);
  }

  #forward(req: IncomingMessage, body: Buffer, res: ServerResponse, fault: Fault | undefined): void {
    const { method, url = "", headers } = req;
    const onward = request(this.target + url, { method: method ?? "GET", headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        const all = Buffer.concat(chunks);
        if (fault?.kind === "drop-answer") return void res.destroy();
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        if (fault?.kind !== "cut-answer") return void res.end(all);
        res.write(all.subarray(0, all.length >> 1), () => res.destroy());
      });
    });
    onward.on("error", () => res.destroy());
    onward.end(body);
  }
}
