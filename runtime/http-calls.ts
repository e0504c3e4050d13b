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

export class HttpCalls {
  readonly #agent: Agent;
  readonly #bytesMax: number;

  /**
   * @param connectionsMax to each neighbour; further calls wait
   * @param bytesMax of an answer's body
   */
  constructor(connectionsMax: number, bytesMax: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, scheduling: "lifo" });
    this.#bytesMax = bytesMax;
  }

  /** @throws NoAnswer */
  call({ method, url, headers = {}, body, deadlineMs }: HttpCall): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const outgoing = request(url, { method, agent: this.#agent, headers: { ...headers, ...length } });
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
        readText(answer, this.#bytesMax).then((text) => {
          clearTimeout(timer);
          resolve({ status: answer.statusCode ?? 0, text });
        }, fail);
      });
      outgoing.end(body);
    });
  }

  /** Ends the connections, whatever is on them. */
  close(): void {
    this.#agent.destroy();
  }
}

function readText(answer: IncomingMessage, bytesMax: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    answer.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) return reject(new Error(`answer longer than ${bytesMax} bytes`));
      chunks.push(chunk);
    });
    answer.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    answer.once("error", reject);
    answer.once("close", () => reject(new Error("the connection was closed before the answer had ended")));
  });
}
