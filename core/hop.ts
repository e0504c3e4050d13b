// The hop's frames: many calls to one instance of a stripe service on one connection, each with its own deadline, answer
// and trace, answered in any order. The connection begins as an HTTP/1.1 upgrade of GET /internal/v1/hop; from then on
// each side sends frames:
//
//   u32 length of what follows | u32 id | u16 length of the head | head | body
//
// A call's head is its method and path, then the values of HOP_HEADERS, one a line; an answer's is its status, then
// `name: value` lines. A frame of the service with id 0 says that it is leaving: no new calls, please.
import { WIRE_HEADERS } from "./schemas/wire.ts";

export const HOP_PATH = "/hop";
export const HOP_PROTOCOL = "striped-orders-hop/1";

/** Longer frames end the connection. */
export const HOP_FRAME_BYTES_MAX = 1024 * 1024;

/** Headers of a call, in the order of a head's lines; an empty line: not given. */
export const HOP_HEADERS = [
  WIRE_HEADERS.place,
  WIRE_HEADERS.routingVersion,
  WIRE_HEADERS.deadlineMs,
  WIRE_HEADERS.requestId,
  WIRE_HEADERS.traceparent,
  WIRE_HEADERS.partition,
] as const;
export type HopHeaders = Readonly<Partial<Record<string, string>>>;

/** What the hop carries: `METHOD path` with numbers of orders, refunds and probes as `:`. Everything else is plain HTTP. */
export const HOP_SHAPES = [
  "POST /orders",
  "GET /orders/:",
  "POST /orders/:/pay",
  "POST /orders/:/close",
  "POST /orders/:/refunds",
  "POST /refunds/:/result",
  "POST /probes",
  "GET /probes/:",
  "POST /probes/:/close",
] as const;
export type HopShape = (typeof HOP_SHAPES)[number];

const KNOWN: ReadonlyMap<string, HopShape> = new Map(HOP_SHAPES.map((shape) => [shape, shape]));

export interface HopTarget {
  readonly shape: HopShape;
  /** The number in the path; empty when it has none. */
  readonly number: string;
  /** Without its `?`. */
  readonly query: string;
}

/** How the hop carries a call. @param path under the internal base, with its query; undefined: it does not */
export function hopTarget(method: string, path: string): HopTarget | undefined {
  const mark = path.indexOf("?");
  const [bare, query] = mark < 0 ? [path, ""] : [path.slice(0, mark), path.slice(mark + 1)];
  const second = bare.indexOf("/", 1);
  if (second < 0) return targetOf(`${method} ${bare}`, "", query);
  const third = bare.indexOf("/", second + 1);
  const number = bare.slice(second + 1, third < 0 ? undefined : third);
  const rest = third < 0 ? "" : bare.slice(third);
  return targetOf(`${method} ${bare.slice(0, second)}/:${rest}`, number, query);
}

function targetOf(shape: string, number: string, query: string): HopTarget | undefined {
  const known = KNOWN.get(shape);
  return known === undefined ? undefined : { shape: known, number, query };
}

const PREFIX_BYTES = 10;

function frame(id: number, head: string, body: string | Buffer): Buffer {
  const headBytes = Buffer.byteLength(head, "latin1");
  const bodyBytes = typeof body === "string" ? Buffer.byteLength(body, "utf8") : body.length;
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + headBytes + bodyBytes);
  bytes.writeUInt32BE(PREFIX_BYTES - 4 + headBytes + bodyBytes, 0);
  bytes.writeUInt32BE(id, 4);
  bytes.writeUInt16BE(headBytes, 8);
  bytes.write(head, PREFIX_BYTES, "latin1");
  if (typeof body === "string") bytes.write(body, PREFIX_BYTES + headBytes, "utf8");
  else body.copy(bytes, PREFIX_BYTES + headBytes);
  return bytes;
}

/** @param id 1 … 2^32−1, unique among the calls under way on the connection */
export function callFrame(id: number, method: string, path: string, headers: HopHeaders, body: string): Buffer {
  let head = `${method} ${path}`;
  for (const name of HOP_HEADERS) head += `\n${headers[name] ?? ""}`;
  return frame(id, head, body);
}

export function answerFrame(id: number, status: number, headers: HopHeaders, body: string): Buffer {
  let head = String(status);
  for (const name in headers) head += `\n${name}: ${headers[name]}`;
  return frame(id, head, body);
}

export function leavingFrame(): Buffer {
  return frame(0, "", "");
}

export interface Frame {
  readonly id: number;
  readonly head: string;
  readonly body: Buffer;
}

export interface HopCall {
  readonly method: string;
  readonly path: string;
  readonly headers: HopHeaders;
}

/** What a call's head says. */
export function parseCallHead(head: string): HopCall {
  const lines = head.split("\n");
  const first = lines[0] ?? "";
  const space = first.indexOf(" ");
  const headers: Record<string, string> = {};
  for (let i = 0; i < HOP_HEADERS.length; i++) {
    const value = lines[i + 1];
    if (value !== undefined && value !== "") headers[HOP_HEADERS[i] as string] = value;
  }
  return { method: first.slice(0, space), path: first.slice(space + 1), headers };
}

/** What an answer's head says; names of headers in lower case. */
export function parseAnswerHead(head: string): { readonly status: number; readonly headers: Record<string, string> } {
  const end = head.indexOf("\n");
  const headers: Record<string, string> = {};
  if (end < 0) return { status: Number(head), headers };
  for (const line of head.slice(end + 1).split("\n")) {
    const colon = line.indexOf(": ");
    headers[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return { status: Number(head.slice(0, end)), headers };
}

export class BadFrame extends Error {
  override readonly name = "BadFrame";
}

/** Takes bytes as they come and gives whole frames. */
export class FrameReader {
  /** Length of the frame that has begun, as far as it is known. */
  #wanted = 4;
  #chunks: Buffer[] = [];
  #size = 0;

  /** @throws BadFrame when the other side does not speak this protocol */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return [];
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#size);
    const frames: Frame[] = [];
    for (;;) {
      this.#wanted = 4;
      if (bytes.length < 4) break;
      const length = bytes.readUInt32BE(0);
      if (length < PREFIX_BYTES - 4 || length > HOP_FRAME_BYTES_MAX) throw new BadFrame(`a frame of ${length} bytes`);
      this.#wanted = 4 + length;
      if (bytes.length < this.#wanted) break;
      frames.push(read(bytes, this.#wanted));
      bytes = bytes.subarray(this.#wanted);
    }
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
    return frames;
  }
}

function read(bytes: Buffer, end: number): Frame {
  const headEnd = PREFIX_BYTES + bytes.readUInt16BE(8);
  if (headEnd > end) throw new BadFrame("a head longer than its frame");
  return {
    id: bytes.readUInt32BE(4),
    head: bytes.toString("latin1", PREFIX_BYTES, headEnd),
    body: bytes.subarray(headEnd, end),
  };
}
