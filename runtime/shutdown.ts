import type { Logger } from "./logger.ts";
import { sleep } from "./clock.ts";

const DRAIN_MAX_MS = 10_000;

export interface Service {
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Runs a service until SIGTERM or SIGINT, then disposes it (stop intake, drain, close) within a bound.
 * A failed start is logged and sets exit code 1.
 */
export async function runService(logger: Logger, service: Service): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  try {
    await service.start();
    await new Promise<void>((resolve) => {
      if (stop.signal.aborted) resolve();
      else stop.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    logger.info("stopping");
  } catch (error) {
    logger.fatal({ err: error }, "failed to start");
    process.exitCode = 1;
  }
  const finished = service[Symbol.asyncDispose]().then(() => true);
  const timer = new AbortController();
  const inTime = await Promise.race([finished, sleep(DRAIN_MAX_MS, timer.signal).then(() => false)]);
  timer.abort();
  if (!inTime) {
    logger.error({ drainMaxMs: DRAIN_MAX_MS }, "did not stop in time");
    process.exit(1);
  }
}
