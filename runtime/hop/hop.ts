// Calls to one service instance, all on one connection. The point of this module is to know what a failure means: a call
// whose bytes were never handed to the system has done nothing; any other failure leaves its outcome unknown. Calls do
// not wait for one another: those of one turn of the event loop leave together, and answers come as they are ready.
import { request } from "node:http";
import type { Duplex } from "node:stream";
import { HOP_PATH, HOP_PROTOCOL } from "../../core/hop.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { HopCall, HopConnection } from "./hop-connection.ts";
import type { UnwrittenReason, WireOutcome, WireRequest } from "./wire-outcome.ts";

export class Hop {
  readonly #url: URL;
  readonly #connectTimeoutMs: number;
  /** Where new calls go. */
  #connection: HopConnection | undefined;
  readonly #open = new Set<HopConnection>();
  #connecting = false;
  /** Calls for the connection that is being made. */
  #waiting: HopCall[] = [];
  #ended = false;

  constructor(url: string, connectTimeoutMs: number) {
    this.#url = new URL(url);
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Sends one call and waits at most `timeoutMs` for its answer. Never rejects. @param request path: under the base */
  call(wire: WireRequest, timeoutMs: number): Promise<WireOutcome> {
    return new Promise((resolve) => {
      const call = new HopCall(wire, timeoutMs, resolve);
      if (this.#ended) return call.lost("refused");
      if (this.#connection?.reads === false) this.#connection.leave();
      if (this.#connection !== undefined) return this.#connection.send(call);
      this.#waiting.push(call);
      this.#connect();
    });
  }

  /** Connects ahead of the first call. */
  warm(): void {
    if (!this.#ended && this.#connection === undefined) this.#connect();
  }

  /** Takes no new calls; those under way are waited for. */
  close(): void {
    this.#ended = true;
    this.#connection?.leave();
    this.#failWaiting("refused");
  }

  destroy(): void {
    this.close();
    for (const connection of this.#open) connection.destroy();
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    const asking = request({
      host: this.#url.hostname,
      port: this.#url.port,
      path: INTERNAL_BASE + HOP_PATH,
      headers: { Connection: "Upgrade", Upgrade: HOP_PROTOCOL },
      agent: false,
    });
    let done = false;
    const end = (how: () => void): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      this.#connecting = false;
      how();
    };
    const failed = (reason: UnwrittenReason): void =>
      end(() => {
        asking.destroy();
        this.#failWaiting(reason);
      });
    const timer = setTimeout(() => failed("connect_timeout"), this.#connectTimeoutMs);
    asking.on("upgrade", (_answer, socket, head) => {
      if (done || this.#ended) return void socket.destroy();
      end(() => this.#opened(socket, head));
    });
    asking.on("response", () => failed("refused"));
    asking.on("error", () => failed("refused"));
    asking.end();
  }

  #opened(socket: Duplex, head: Buffer): void {
    if (head.length > 0) socket.unshift(head);
    const connection: HopConnection = new HopConnection(socket, {
      onLeave: () => {
        if (this.#connection === connection) this.#connection = undefined;
      },
      onClose: () => this.#open.delete(connection),
    });
    this.#open.add(connection);
    this.#connection = connection;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) if (!call.settled) connection.send(call);
  }

  #failWaiting(reason: UnwrittenReason): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) call.lost(reason);
  }
}
