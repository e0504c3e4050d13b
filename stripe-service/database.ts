// The stripe's database as the rest of the service sees it: one writer, one reader, and their pools.
import { GroupCommit } from "./batch/group-commit.ts";
import { OrderReads } from "./batch/order-reads.ts";
import { Breaker } from "./storage/breaker.ts";
import { Reader } from "./storage/reader.ts";
import { SessionPool } from "./storage/session-pool.ts";
import { Writer } from "./storage/writer.ts";
import type { StripeServiceConfig } from "./config.ts";

export class Database {
  readonly writer: Writer;
  /** Where operations on orders go, to share transactions. */
  readonly groupCommit: GroupCommit;
  readonly reader: Reader;
  /** Where queries by number go, to share statements. */
  readonly orderReads: OrderReads;
  readonly pools: Readonly<Record<"batch" | "write" | "primary_read" | "replica_read", SessionPool>>;

  constructor({ writer, reader, place, limits }: StripeServiceConfig) {
    const common = {
      queueMax: limits.poolQueueMax,
      queueWaitMs: limits.poolQueueWaitMs,
      connectTimeoutMs: limits.dbConnectTimeoutMs,
      lockWaitS: limits.lockWaitS,
    };
    const source = { ...common, target: writer, openServersOnly: true };
    const writing = { ...source, autocommit: false, scripts: true };
    this.pools = {
      // One more than there are flushers: whoever tries whether a stuck server answers again.
      batch: new SessionPool({ ...writing, connectionsMax: limits.batchFlushers + 1 }),
      write: new SessionPool({ ...writing, connectionsMax: limits.writePoolMax }),
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
    this.groupCommit = new GroupCommit(this.writer, this.pools.batch, {
      flushers: limits.batchFlushers,
      batchMax: limits.batchMax,
      queueMax: limits.batchQueueMax,
      queueWaitMs: limits.poolQueueWaitMs,
      commitReserveMs: limits.commitReserveMs,
    });
    const { primary_read: primaryRead, replica_read: replicaRead } = this.pools;
    this.reader = new Reader(primaryRead, replicaRead, new Breaker(breaker), identity, {
      fallbackMs: limits.readFallbackMs,
      triesMax: limits.transactionTriesMax,
    });
    this.orderReads = new OrderReads(this.reader, {
      flights: limits.batchFlushers,
      batchMax: limits.batchMax,
      queueMax: limits.batchQueueMax,
    });
  }

  async close(): Promise<void> {
    this.groupCommit.stop();
    await Promise.all(Object.values(this.pools).map((pool) => pool.close()));
  }
}
