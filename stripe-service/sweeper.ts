import { schedule, type ScheduledTask } from "node-cron";
import { Deadline } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { StripeMetrics } from "./metrics.ts";
import { sweepExpired } from "./orders/sweep-expired.ts";
import type { Writer } from "./storage/writer.ts";

export interface SweeperOptions {
  readonly writer: Writer;
  readonly intervalS: number;
  readonly batchMax: number;
  /** Batches of one run at most; the rest is for the next run. */
  readonly batchesMax: number;
  readonly deadlineMs: number;
  readonly metrics: StripeMetrics;
  readonly logger: Logger;
}

/** Closes unpaid orders past `time_expire`, again and again. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #task: ScheduledTask | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    const { logger, intervalS } = this.#options;
    const quiet = {
      info: noLog,
      debug: noLog,
      warn: noLog,
      error: (e: string | Error) => logger.error({ err: e }, "cron"),
    };
    this.#task = schedule(`*/${intervalS} * * * * *`, () => this.#keep(this.#sweep()), {
      name: "expiry-sweep",
      noOverlap: true,
      suppressMissedWarning: true,
      logger: quiet,
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#task?.destroy();
    await this.#running;
  }

  #keep(run: Promise<void>): Promise<void> {
    this.#running = run;
    return run;
  }

  async #sweep(): Promise<void> {
    const { batchesMax, batchMax, metrics, logger } = this.#options;
    try {
      for (let batch = 0; batch < batchesMax && !this.#stopped; batch++) {
        const closed = await this.#batch();
        metrics.swept.inc(closed);
        if (closed > 0) logger.info({ closed }, "expired orders closed");
        if (closed < batchMax) return;
      }
    } catch (error) {
      metrics.sweepFailures.inc();
      logger.debug({ code: (error as { code?: unknown }).code }, "expiry sweep failed");
    }
  }

  async #batch(): Promise<number> {
    const { writer, deadlineMs, batchMax } = this.#options;
    const outcome = await writer.run(new Deadline(deadlineMs), {}, (tx) => sweepExpired(tx, batchMax));
    if (outcome.ok) return outcome.value;
    throw outcome.error;
  }
}

function noLog(): void {
  // The library's own words are not for our log.
}
