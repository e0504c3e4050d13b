import pino from "pino";
import { readEnv } from "./env.ts";

export type Logger = pino.Logger;

/**
 * JSON logger of one process. Field names are the product's words: `stripe`, `request_id`, `transaction_id`.
 * Never log a body, a description, an attachment or a payer.
 */
export function createLogger(process_: string, fields: Record<string, unknown> = {}): Logger {
  return pino({
    level: readEnv("LOG_LEVEL") ?? "info",
    base: { process: process_, pid: process.pid, ...fields },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ["password", "*.password"],
  });
}
