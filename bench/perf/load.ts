// The bench's side of its load process.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface LoadOrder {
  readonly kind: "create" | "pay" | "query" | "mixed";
  readonly urls: readonly string[];
  readonly connections: number;
  readonly ms: number;
  /** Orders to pay or to query. */
  readonly ids: readonly string[];
  /** Ask in a way that the proxy's hot routes leave to Express. */
  readonly unusual?: boolean;
  /**
   * Stripe by bucket. Then each caller keeps to one of them, as many to each, and makes only merchant numbers whose home
   * it is. For creates.
   */
  readonly homes?: readonly number[];
  /** Each latency is wanted, not only quantiles. */
  readonly withLatencies?: boolean;
}

export interface LoadResult {
  readonly done: number;
  readonly failed: number;
  /** Some of the answers that were not as expected. */
  readonly errors: readonly string[];
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Orders that were created. */
  readonly ids: readonly string[];
  /** Milliseconds, when they were asked for. */
  readonly latencies?: Float64Array;
}

export class Load implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("http-load.ts", import.meta.url)), { serialization: "advanced" });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Runs one load. @throws Error when more than a hundredth of the answers were wrong or did not come */
  async run(order: LoadOrder): Promise<LoadResult> {
    this.#child.send(order);
    const [message] = (await once(this.#child, "message")) as [{ result?: LoadResult; error?: string }];
    const { result, error } = message;
    if (result === undefined) throw new Error(`the load of ${order.kind} failed: ${error}`);
    if (result.failed > result.done / 100) {
      throw new Error(`${result.failed} of ${result.done} ${order.kind} were answered otherwise: ${result.errors[0]}`);
    }
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
