// One open connection of the hop, and the calls that are under way on it.
import type { Duplex } from "node:stream";
import { BadFrame, callFrame, type Frame, FrameReader, parseAnswerHead } from "../../core/hop.ts";
import { FrameWriter } from "./frame-writer.ts";
import type { UnwrittenReason, WireOutcome, WireRequest } from "./wire-outcome.ts";

const ID_MAX = 2 ** 32 - 1;

/** One call on its way. */
export class HopCall {
  readonly request: WireRequest;
  readonly #resolve: (outcome: WireOutcome) => void;
  readonly #timer: NodeJS.Timeout;
  #settled = false;
  /** Its bytes were handed to the system. */
  written = false;
  /** Answers that its connection had received by then. */
  receivedBefore = 0;
  connection: HopConnection | undefined;
  /** On its connection. */
  id = 0;

  constructor(request: WireRequest, timeoutMs: number, resolve: (outcome: WireOutcome) => void) {
    this.request = request;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#timedOut(), Math.max(1, Math.ceil(timeoutMs)));
  }

  get settled(): boolean {
    return this.#settled;
  }

  settle(outcome: WireOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#resolve(outcome);
  }

  /** There is no connection for it any more. */
  lost(reason: UnwrittenReason): void {
    this.settle(this.written ? { kind: "unknown", reason: "connection_lost" } : { kind: "unwritten", reason });
  }

  #timedOut(): void {
    this.settle(
      this.written ? { kind: "unknown", reason: "timeout" } : { kind: "unwritten", reason: "connect_timeout" },
    );
    this.connection?.gaveUp(this);
  }
}

export interface ConnectionEvents {
  /** It takes no new calls from now on. */
  onLeave(): void;
  onClose(): void;
}

export class HopConnection {
  readonly #socket: Duplex;
  readonly #events: ConnectionEvents;
  readonly #writer: FrameWriter;
  readonly #reader = new FrameReader();
  readonly #calls = new Map<number, HopCall>();
  #nextId = 1;
  #received = 0;
  #leaving = false;

  constructor(socket: Duplex, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#writer = new FrameWriter(socket);
    socket.on("data", (chunk: Buffer) => this.#data(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#closed());
  }

  /** Whether what is written now is likely to be read; otherwise new calls had better go elsewhere. */
  get reads(): boolean {
    return !this.#writer.full;
  }

  send(call: HopCall): void {
    const id = this.#freeId();
    this.#calls.set(id, call);
    call.connection = this;
    call.id = id;
    this.#writer.add(() => {
      if (call.settled) return undefined;
      call.written = true;
      call.receivedBefore = this.#received;
      const { method, path, headers, body = "" } = call.request;
      return callFrame(id, method, path, headers, body);
    });
  }

  /** A call was given up. When nothing was heard since it was written, others had better use a new connection. */
  gaveUp(call: HopCall): void {
    this.#calls.delete(call.id);
    if (call.written && this.#received === call.receivedBefore) this.leave();
    this.#closeIfDone();
  }

  /** Takes no new calls; closes when those under way are done. */
  leave(): void {
    if (!this.#leaving) {
      this.#leaving = true;
      this.#events.onLeave();
    }
    this.#closeIfDone();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #freeId(): number {
    do this.#nextId = this.#nextId === ID_MAX ? 1 : this.#nextId + 1;
    while (this.#calls.has(this.#nextId));
    return this.#nextId;
  }

  #data(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#frame(frame);
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      for (const call of this.#calls.values()) {
        if (call.written) call.settle({ kind: "unknown", reason: "bad_answer" });
        else call.lost("refused");
      }
      this.#socket.destroy();
    }
  }

  #frame({ id, head, body }: Frame): void {
    if (id === 0) return this.leave();
    this.#received += 1;
    const call = this.#calls.get(id);
    if (call === undefined) return; // given up before
    this.#calls.delete(id);
    const { status, headers } = parseAnswerHead(head);
    const understood = Number.isInteger(status) && status >= 200 && status <= 599;
    call.settle(understood ? { kind: "answer", status, headers, body } : { kind: "unknown", reason: "bad_answer" });
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#leaving && this.#calls.size === 0) this.#socket.destroy();
  }

  #closed(): void {
    this.leave();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.lost("refused");
    this.#events.onClose();
  }
}
