// Small HTTP calls to a few neighbours over held connections, on Node's own client: a process that makes nothing but such
// calls does not load a larger one.
import { Agent, type IncomingMessage, request } from "node:http";

export interface HttpCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** For all of it, connecting included; milliseconds. */
  readonly deadlineMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** No whole answer came. Whether the other side has carried the call out is unknown. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** It is the deadline that ended the call. */
  readonly late: boolean;

  constructor(message: string, late: boolean, cause?: unknown) {
    super(message, { cause });
    this.late = late;
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

const PLACES_MAX = 1_000;

export class HttpCalls {
  readonly #agent: Agent;
  readonly #bytesMax: number;
  /** The same few addresses are called over and over: each is taken apart once. */
  readonly #places = new Map<string, Place>();

  /**
   * @param connectionsMax to each neighbour; further calls wait
   * @param bytesMax of an answer's body
   */
  constructor(connectionsMax: number, bytesMax: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, scheduling: "lifo" });
    this.#bytesMax = bytesMax;
  }

  /** @throws NoAnswer */
  call({ method, url, headers, body, deadlineMs }: HttpCall): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? undefined : { "content-length": Buffer.byteLength(body) };
      const outgoing = request({ ...this.#place(url), method, agent: this.#agent, headers: { ...headers, ...length } });
      let late = false;
      const timer = setTimeout(
        () => {
          late = true;
          outgoing.destroy(new Error(`no answer within ${Math.round(deadlineMs)} ms`));
        },
        Math.max(1, deadlineMs),
      );
      const fail = (error: Error): void => {
        clearTimeout(timer);
        outgoing.destroy();
        reject(new NoAnswer(error.message, late, error));
      };
      outgoing.once("error", fail);
      outgoing.once("response", (answer) => {
        const done = (text: string): void => {
          clearTimeout(timer);
          resolve({ status: answer.statusCode ?? 0, text });
        };
        readText(answer, this.#bytesMax, done, fail);
      });
      outgoing.end(body);
    });
  }

  /** Ends the connections, whatever is on them. */
  close(): void {
    this.#agent.destroy();
  }

  #place(url: string): Place {
    const known = this.#places.get(url);
    if (known !== undefined) return known;
    if (this.#places.size >= PLACES_MAX) this.#places.clear();
    const { hostname, port, pathname, search } = new URL(url);
    const place = {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? 80 : Number(port),
      path: pathname + search,
    };
    this.#places.set(url, place);
    return place;
  }
}

function readText(
  answer: IncomingMessage,
  bytesMax: number,
  done: (text: string) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  answer.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) return fail(new Error(`answer longer than ${bytesMax} bytes`));
    chunks.push(chunk);
  });
  answer.once("end", () => done((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString("utf8") ?? ""));
  answer.once("error", fail);
  answer.once("close", () => {
    if (!answer.complete) fail(new Error("the connection was closed before the answer had ended"));
  });
}
