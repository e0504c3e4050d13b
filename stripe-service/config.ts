import { z } from "zod";
import { schemaName, type StripeNo, stripeNo, STRIPE_NO_MAX } from "../core/ids.ts";
import { loadConfig } from "../runtime/env.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";

const port = z.coerce.number().int().min(1).max(65_535);
const count = (byDefault: number) => z.coerce.number().int().min(1).max(100_000).default(byDefault);
const ms = (byDefault: number) => z.coerce.number().int().min(1).max(600_000).default(byDefault);

const schema = z.object({
  HOST: z.string().default("127.0.0.1"),
  PORT: port,
  STRIPE: z.coerce.number().int().min(1).max(STRIPE_NO_MAX),
  PLACE: z.coerce.number().int().min(1),
  /** Name of this process among those of the stripe, for logs. */
  INSTANCE: z.string().min(1).max(64).default("1"),
  DB_WRITER_HOST: z.string(),
  DB_WRITER_PORT: port,
  DB_READER_HOST: z.string(),
  DB_READER_PORT: port,
  DB_USER: z.string(),
  DB_PASSWORD: z.string(),

  /** Connections for write transactions, for reads at the source, and for reads at replicas. */
  WRITE_POOL_MAX: count(24),
  PRIMARY_READ_POOL_MAX: count(8),
  REPLICA_READ_POOL_MAX: count(8),
  /** Requests that may wait for a connection, for each pool, and for how long. */
  POOL_QUEUE_MAX: count(512),
  POOL_QUEUE_WAIT_MS: ms(1_000),
  /** Transactions of several operations at the same time, operations in one, and operations that may wait for one. */
  BATCH_FLUSHERS: z.coerce.number().int().min(1).max(16).default(4),
  BATCH_MAX: z.coerce.number().int().min(1).max(1_000).default(200),
  BATCH_QUEUE_MAX: count(2_048),
  DB_CONNECT_TIMEOUT_MS: ms(1_000),
  /** A request without a deadline of its own has this one; a longer one is cut to it. */
  DB_DEADLINE_MS: ms(2_500),
  /** Kept back from the caller's deadline, so that the answer arrives in time. */
  ANSWER_MARGIN_MS: ms(50),
  /** With less than this left COMMIT is not sent. */
  COMMIT_RESERVE_MS: ms(50),
  /** A COMMIT that waits longer lets only single writes through until one succeeds. */
  COMMIT_STUCK_MS: ms(700),
  ROLLBACK_MAX_MS: ms(300),
  LOCK_WAIT_S: z.coerce.number().int().min(1).max(60).default(1),
  TRANSACTION_TRIES_MAX: count(4),
  RETRY_PAUSE_MAX_MS: ms(20),
  BREAKER_FAILURES_MAX: count(3),
  BREAKER_TRIAL_INTERVAL_MS: ms(200),
  /** How long a read waits for the source before a replica is asked. */
  READ_FALLBACK_MS: ms(800),
  READY_CHECK_INTERVAL_MS: ms(1_000),
  SWEEP_INTERVAL_S: z.coerce.number().int().min(1).max(30).default(1),
  SWEEP_BATCH_MAX: count(200),
  /** Batches of one sweep at most; 0: this instance does not sweep. */
  SWEEP_BATCHES_MAX: z.coerce.number().int().min(0).max(1_000).default(10),
  REFUND_BLOCK_SIZE: z.coerce.number().int().min(2).max(10_000).default(200),
  BODY_BYTES_MAX: count(96 * 1024),

  /** Where the routing table is read; without it this instance settles no jumped orders. Never needed for an order. */
  CONTROL_DB_HOST: z.string().optional(),
  CONTROL_DB_PORT: port.default(3306),
  CONTROL_DB_USER: z.string().default(""),
  CONTROL_DB_PASSWORD: z.string().default(""),
  CONTROL_DB_NAME: z.string().default("control"),
  ROUTING_CACHE_FILE: z.string().default(""),
  ROUTING_POLL_MS: ms(400),
  CONTROL_TIMEOUT_MS: ms(1_000),
  RESOLVER_POLL_MS: ms(250),
  RESOLVER_BATCH_MAX: count(200),
  /** Jumped orders settled at the same time. */
  RESOLVER_PARALLEL_MAX: count(8),
  /** For one call to another stripe, and how long one that did not answer is left alone. */
  PEER_TIMEOUT_MS: ms(1_000),
  PEER_RETRY_MS: ms(500),
  /** 1: fault points can be set (tests only). */
  FAULT_POINTS: z.enum(["0", "1"]).default("0"),
});

export interface StripeServiceConfig {
  readonly host: string;
  readonly port: number;
  readonly stripe: StripeNo;
  readonly place: number;
  readonly instance: string;
  readonly writer: MysqlTarget;
  readonly reader: MysqlTarget;
  /** Undefined: this instance settles no jumped orders. */
  readonly routing: { readonly controlDb: MysqlTarget; readonly cacheFile: string } | undefined;
  readonly faultPoints: boolean;
  readonly limits: Limits;
}

export type Limits = Readonly<ReturnType<typeof limitsOf>>;

function limitsOf(env: z.infer<typeof schema>) {
  return {
    writePoolMax: env.WRITE_POOL_MAX,
    primaryReadPoolMax: env.PRIMARY_READ_POOL_MAX,
    replicaReadPoolMax: env.REPLICA_READ_POOL_MAX,
    poolQueueMax: env.POOL_QUEUE_MAX,
    poolQueueWaitMs: env.POOL_QUEUE_WAIT_MS,
    batchFlushers: env.BATCH_FLUSHERS,
    batchMax: env.BATCH_MAX,
    batchQueueMax: env.BATCH_QUEUE_MAX,
    dbConnectTimeoutMs: env.DB_CONNECT_TIMEOUT_MS,
    dbDeadlineMs: env.DB_DEADLINE_MS,
    answerMarginMs: env.ANSWER_MARGIN_MS,
    commitReserveMs: env.COMMIT_RESERVE_MS,
    commitStuckMs: env.COMMIT_STUCK_MS,
    rollbackMaxMs: env.ROLLBACK_MAX_MS,
    lockWaitS: env.LOCK_WAIT_S,
    transactionTriesMax: env.TRANSACTION_TRIES_MAX,
    retryPauseMaxMs: env.RETRY_PAUSE_MAX_MS,
    breakerFailuresMax: env.BREAKER_FAILURES_MAX,
    breakerTrialIntervalMs: env.BREAKER_TRIAL_INTERVAL_MS,
    readFallbackMs: env.READ_FALLBACK_MS,
    readyCheckIntervalMs: env.READY_CHECK_INTERVAL_MS,
    sweepIntervalS: env.SWEEP_INTERVAL_S,
    sweepBatchMax: env.SWEEP_BATCH_MAX,
    sweepBatchesMax: env.SWEEP_BATCHES_MAX,
    refundBlockSize: env.REFUND_BLOCK_SIZE,
    bodyBytesMax: env.BODY_BYTES_MAX,
    routingPollMs: env.ROUTING_POLL_MS,
    controlTimeoutMs: env.CONTROL_TIMEOUT_MS,
    resolverPollMs: env.RESOLVER_POLL_MS,
    resolverBatchMax: env.RESOLVER_BATCH_MAX,
    resolverParallelMax: env.RESOLVER_PARALLEL_MAX,
    peerTimeoutMs: env.PEER_TIMEOUT_MS,
    peerRetryMs: env.PEER_RETRY_MS,
  };
}

/** What must hold between limits: [what is broken, whether it holds]. */
function relations(l: Limits): [string, boolean][] {
  return [
    ["READ_FALLBACK_MS < DB_DEADLINE_MS", l.readFallbackMs < l.dbDeadlineMs],
    ["DB_CONNECT_TIMEOUT_MS < DB_DEADLINE_MS", l.dbConnectTimeoutMs < l.dbDeadlineMs],
    ["POOL_QUEUE_WAIT_MS < DB_DEADLINE_MS", l.poolQueueWaitMs < l.dbDeadlineMs],
    ["COMMIT_RESERVE_MS + ANSWER_MARGIN_MS < DB_DEADLINE_MS", l.commitReserveMs + l.answerMarginMs < l.dbDeadlineMs],
    ["COMMIT_STUCK_MS < DB_DEADLINE_MS", l.commitStuckMs < l.dbDeadlineMs],
    ["RESOLVER_PARALLEL_MAX < WRITE_POOL_MAX", l.resolverParallelMax < l.writePoolMax],
    ["LOCK_WAIT_S × 1000 < DB_DEADLINE_MS", l.lockWaitS * 1000 < l.dbDeadlineMs],
  ];
}

/** The config of this process, from the environment. @throws Error naming what is wrong */
export function readConfig(): StripeServiceConfig {
  return configOf(loadConfig(schema));
}

/** A config from values named as the environment's variables. @throws Error naming what is wrong */
export function configFrom(values: Readonly<Record<string, string>>): StripeServiceConfig {
  return configOf(schema.parse(values));
}

function configOf(env: z.infer<typeof schema>): StripeServiceConfig {
  const limits = Object.freeze(limitsOf(env));
  const broken = relations(limits).filter(([, holds]) => !holds);
  if (broken.length > 0)
    throw new Error(`limits that contradict each other: ${broken.map(([what]) => what).join("; ")}`);
  const stripe = stripeNo(env.STRIPE);
  const account = { user: env.DB_USER, password: env.DB_PASSWORD, database: schemaName(stripe, env.PLACE) };
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    stripe,
    place: env.PLACE,
    instance: env.INSTANCE,
    writer: { host: env.DB_WRITER_HOST, port: env.DB_WRITER_PORT, ...account },
    reader: { host: env.DB_READER_HOST, port: env.DB_READER_PORT, ...account },
    routing: routingOf(env),
    faultPoints: env.FAULT_POINTS === "1",
    limits,
  });
}

function routingOf(env: z.infer<typeof schema>): StripeServiceConfig["routing"] {
  if (env.CONTROL_DB_HOST === undefined) return undefined;
  if (env.CONTROL_DB_USER === "" || env.ROUTING_CACHE_FILE === "") {
    throw new Error("CONTROL_DB_HOST needs CONTROL_DB_USER and ROUTING_CACHE_FILE");
  }
  const controlDb = {
    host: env.CONTROL_DB_HOST,
    port: env.CONTROL_DB_PORT,
    user: env.CONTROL_DB_USER,
    password: env.CONTROL_DB_PASSWORD,
    database: env.CONTROL_DB_NAME,
  };
  return { controlDb, cacheFile: env.ROUTING_CACHE_FILE };
}
