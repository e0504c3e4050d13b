import { z } from "zod";
import { JUMPS_MAX, SEQUENCE_BLOCK_MAX } from "../core/schemas/wire.ts";
import { loadConfig } from "../runtime/env.ts";
import { REQUEST_ARRIVAL_MS } from "../runtime/http-server.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import { areCheckerUrls, checkerUrls } from "../runtime/verdicts/checker-client.ts";

const port = z.coerce.number().int().min(0).max(65_535);

function limit(fallback: number, min: number, max: number): z.ZodDefault<z.ZodCoercedNumber> {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

const schema = z.object({
  HOST: z.string().default("127.0.0.1"),
  PORT: port.default(8080),
  CONTROL_DB_HOST: z.string().default("127.0.0.1"),
  CONTROL_DB_PORT: port.default(3306),
  CONTROL_DB_USER: z.string(),
  CONTROL_DB_PASSWORD: z.string().default(""),
  CONTROL_DB_NAME: z.string().default("control"),
  ROUTING_CACHE_FILE: z.string(),
  REQUEST_DEADLINE_MS: limit(3_000, 100, 60_000),
  ATTEMPT_TIMEOUT_MS: limit(1_000, 20, 30_000),
  CONNECT_TIMEOUT_MS: limit(400, 10, 10_000),
  JUMPS_MAX: limit(JUMPS_MAX, 0, JUMPS_MAX),
  MOVE_WAIT_MS: limit(300, 0, 10_000),
  REQUEST_ARRIVAL_MS: limit(REQUEST_ARRIVAL_MS, 100, 60_000),
  BODY_MAX_BYTES: limit(64 * 1024, 1_024, 1_048_576),
  REQUESTS_IN_FLIGHT_MAX: limit(4_096, 1, 100_000),
  STRIPE_IN_FLIGHT_MAX: limit(256, 1, 10_000),
  STRIPE_IN_FLIGHT_MIN: limit(24, 1, 10_000),
  SEQUENCE_BLOCK_SIZE: limit(1_000, 2, SEQUENCE_BLOCK_MAX),
  MASK_AFTER_FAILURES: limit(3, 1, 1_000),
  MASK_MS: limit(2_000, 10, 60_000),
  INSTANCE_AVOID_MS: limit(1_000, 10, 60_000),
  READMIT_WAIT_MAX_MS: limit(30_000, 0, 600_000),
  ROUTING_POLL_MS: limit(400, 10, 500),
  CONTROL_TIMEOUT_MS: limit(1_000, 50, 10_000),
  SLOW_REQUEST_MS: limit(1_000, 1, 60_000),
  /** Base URLs, separated by commas; none: stripes are judged by the proxy's own calls alone. */
  HEALTH_CHECKER_URLS: z.string().default("").refine(areCheckerUrls, "must be http URLs separated by commas"),
  VERDICT_POLL_MS: limit(500, 10, 500),
  VERDICT_TIMEOUT_MS: limit(400, 10, 5_000),
  VERDICT_KEEP_MS: limit(10_000, 100, 600_000),
});

/** Every bound of the proxy. Times are milliseconds, sizes bytes. */
export interface Limits {
  /** From the end of a request's body to the last moment of its answer. */
  readonly requestDeadlineMs: number;
  /** How long one try may take while others are left. */
  readonly attemptTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly jumpsMax: number;
  /** How long a create waits for a bucket that is on the move. */
  readonly moveWaitMs: number;
  /** How long a request may take to arrive, from its first byte to the last of its body. */
  readonly requestArrivalMs: number;
  readonly bodyMaxBytes: number;
  readonly requestsInFlightMax: number;
  /** Calls in flight to one stripe; one more is refused at once. */
  readonly stripeInFlightMax: number;
  /** The bound shrinks to this while the stripe is slow, and no further. */
  readonly stripeInFlightMin: number;
  readonly sequenceBlockSize: number;
  readonly maskAfterFailures: number;
  readonly maskMs: number;
  readonly instanceAvoidMs: number;
  /** How long a home that answers again waits at most until it knows of all orders that jumped. */
  readonly readmitWaitMaxMs: number;
  readonly routingPollMs: number;
  readonly controlTimeoutMs: number;
  readonly slowRequestMs: number;
  readonly verdictPollMs: number;
  readonly verdictTimeoutMs: number;
  /** How long the last word of a health checker counts that does not answer; then stripes count as healthy. */
  readonly verdictKeepMs: number;
}

export interface ProxyConfig {
  readonly host: string;
  readonly port: number;
  readonly controlDb: MysqlTarget;
  readonly routingCacheFile: string;
  readonly checkerUrls: readonly string[];
  readonly limits: Limits;
}

/**
 * What must hold between limits, or how it is broken.
 * @returns one sentence for each broken relation
 */
export function brokenRelations(limits: Limits): string[] {
  const relations: [boolean, string][] = [
    [
      2 * limits.attemptTimeoutMs < limits.requestDeadlineMs,
      "2 × ATTEMPT_TIMEOUT_MS must be less than REQUEST_DEADLINE_MS: a frozen home must leave time to jump",
    ],
    [limits.connectTimeoutMs < limits.attemptTimeoutMs, "CONNECT_TIMEOUT_MS must be less than ATTEMPT_TIMEOUT_MS"],
    [limits.moveWaitMs < limits.requestDeadlineMs / 2, "MOVE_WAIT_MS must be less than half of REQUEST_DEADLINE_MS"],
    [
      limits.stripeInFlightMax <= limits.requestsInFlightMax,
      "STRIPE_IN_FLIGHT_MAX must not exceed REQUESTS_IN_FLIGHT_MAX",
    ],
    [limits.verdictPollMs < limits.verdictKeepMs, "VERDICT_POLL_MS must be less than VERDICT_KEEP_MS"],
  ];
  return relations.filter(([holds]) => !holds).map(([, sentence]) => sentence);
}

/** Config from the environment. @throws Error naming what is wrong */
export function loadProxyConfig(): ProxyConfig {
  const env = loadConfig(schema);
  const limits: Limits = Object.freeze({
    requestDeadlineMs: env.REQUEST_DEADLINE_MS,
    attemptTimeoutMs: env.ATTEMPT_TIMEOUT_MS,
    connectTimeoutMs: env.CONNECT_TIMEOUT_MS,
    jumpsMax: env.JUMPS_MAX,
    moveWaitMs: env.MOVE_WAIT_MS,
    requestArrivalMs: env.REQUEST_ARRIVAL_MS,
    bodyMaxBytes: env.BODY_MAX_BYTES,
    requestsInFlightMax: env.REQUESTS_IN_FLIGHT_MAX,
    stripeInFlightMax: env.STRIPE_IN_FLIGHT_MAX,
    stripeInFlightMin: env.STRIPE_IN_FLIGHT_MIN,
    sequenceBlockSize: env.SEQUENCE_BLOCK_SIZE,
    maskAfterFailures: env.MASK_AFTER_FAILURES,
    maskMs: env.MASK_MS,
    instanceAvoidMs: env.INSTANCE_AVOID_MS,
    readmitWaitMaxMs: env.READMIT_WAIT_MAX_MS,
    routingPollMs: env.ROUTING_POLL_MS,
    controlTimeoutMs: env.CONTROL_TIMEOUT_MS,
    slowRequestMs: env.SLOW_REQUEST_MS,
    verdictPollMs: env.VERDICT_POLL_MS,
    verdictTimeoutMs: env.VERDICT_TIMEOUT_MS,
    verdictKeepMs: env.VERDICT_KEEP_MS,
  });
  const broken = brokenRelations(limits);
  if (broken.length > 0) throw new Error(`bad configuration in the environment:\n  ${broken.join("\n  ")}`);
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    controlDb: Object.freeze({
      host: env.CONTROL_DB_HOST,
      port: env.CONTROL_DB_PORT,
      user: env.CONTROL_DB_USER,
      password: env.CONTROL_DB_PASSWORD,
      database: env.CONTROL_DB_NAME,
    }),
    routingCacheFile: env.ROUTING_CACHE_FILE,
    checkerUrls: checkerUrls(env.HEALTH_CHECKER_URLS),
    limits,
  });
}
