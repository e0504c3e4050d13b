// The stripe's database as the rest of the service sees it: one writer, one reader, and their pools.
import { Breaker } from "./storage/breaker.ts";
import { Reader } from "./storage/reader.ts";
import { SessionPool } from "./storage/session-pool.ts";
import { Writer } from "./storage/writer.ts";
import type { StripeServiceConfig } from "./config.ts";

export class Database {
  readonly writer: Writer;
  readonly reader: Reader;
  readonly pools: Readonly<Record<"write" | "primary_read" | "replica_read", SessionPool>>;

  constructor({ writer, reader, place, limits }: StripeServiceConfig) {
    const common = {
      queueMax: limits.poolQueueMax,
      queueWaitMs: limits.poolQueueWaitMs,
      connectTimeoutMs: limits.dbConnectTimeoutMs,
      lockWaitS: limits.lockWaitS,
    };
    const source = { ...common, target: writer, openServersOnly: true };
    this.pools = {
      write: new SessionPool({ ...source, connectionsMax: limits.writePoolMax, autocommit: false }),
      primary_read: new SessionPool({ ...source, connectionsMax: limits.primaryReadPoolMax, autocommit: true }),
      replica_read: new SessionPool({
        ...common,
        target: reader,
        openServersOnly: false,
        connectionsMax: limits.replicaReadPoolMax,
        autocommit: true,
      }),
    };
    const breaker = { failuresMax: limits.breakerFailuresMax, trialIntervalMs: limits.breakerTrialIntervalMs };
    const identity = { place };
    this.writer = new Writer(this.pools.write, new Breaker(breaker), identity, {
      triesMax: limits.transactionTriesMax,
      retryPauseMaxMs: limits.retryPauseMaxMs,
      commitReserveMs: limits.commitReserveMs,
      commitStuckMs: limits.commitStuckMs,
      rollbackMaxMs: limits.rollbackMaxMs,
    });
    const { primary_read: primaryRead, replica_read: replicaRead } = this.pools;
    this.reader = new Reader(primaryRead, replicaRead, new Breaker(breaker), identity, {
      fallbackMs: limits.readFallbackMs,
      triesMax: limits.transactionTriesMax,
    });
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.pools).map((pool) => pool.close()));
  }
}
