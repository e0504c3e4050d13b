// A payment app's client: sends a request again, with the same numbers, until it has a certain answer.
import { Agent, request } from "undici";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";

const CALL_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 128;
const RETRY_PAUSE_MS = 100;
/** An impatient client hangs up after this. */
const IMPATIENT_MS = 3;

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Milliseconds of the attempt that was answered. */
  readonly ms: number;
  /** How often the request was sent. */
  readonly tries: number;
}

/** Answers after which the outcome is not known, or a retry may do better. */
function isUncertain(status: number): boolean {
  return status >= 500 || status === 429;
}

export class DemoClient {
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, pipelining: 1 });
  readonly #urls: readonly string[];
  readonly #giveUpMs: number;
  #turn = 0;
  /** Answers by status over all attempts; hang-ups and lost connections count as 0. */
  readonly attempts = new Map<number, number>();

  /** @param giveUpMs how long one request is sent again before the client gives up */
  constructor(urls: readonly string[], giveUpMs: number) {
    this.#urls = urls;
    this.#giveUpMs = giveUpMs;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /**
   * Sends until the answer is certain (2xx, 4xx).
   * @throws Error when no certain answer came within the client's patience
   */
  async send(method: "GET" | "POST", path: string, body?: object, impatient = false): Promise<Answer> {
    const deadline = new Deadline(this.#giveUpMs);
    let last = "nothing";
    for (let tries = 1; ; tries++) {
      const answer = await this.#once(method, path, body, impatient && tries === 1 ? IMPATIENT_MS : CALL_TIMEOUT_MS);
      this.attempts.set(answer?.status ?? 0, (this.attempts.get(answer?.status ?? 0) ?? 0) + 1);
      if (answer !== null && !isUncertain(answer.status)) return { ...answer, tries };
      last = answer === null ? "no answer" : `${answer.status} ${String(answer.body.code)}`;
      if (deadline.passed)
        throw new Error(`${method} ${path}: no certain answer in ${this.#giveUpMs} ms, last: ${last}`);
      await sleep(RETRY_PAUSE_MS);
    }
  }

  async #once(method: "GET" | "POST", path: string, body: object | undefined, timeoutMs: number) {
    const url = this.#urls[this.#turn++ % this.#urls.length];
    const started = monotonicMs();
    try {
      const response = await request(`${url}${path}`, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      const parsed = (await response.body.json()) as Record<string, unknown>;
      return { status: response.statusCode, body: parsed, headers: response.headers, ms: monotonicMs() - started };
    } catch {
      return null;
    }
  }
}
