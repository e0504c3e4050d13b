// Settings of one MySQL server as its command line. The server is closed by every start (read-only, receiver stopped,
// both semi-sync sides off): only its agent opens it. Which setting guards what is told beside it.
import { dataDirectoryOptions } from "./install/mysql-initialise.ts";

/** Linux limits a socket's path to 108 bytes with its closing NUL; macOS to 104. */
export const SOCKET_PATH_CHARS_MAX = 100;

/** A week: longer than a replica is away before it is rebuilt by a clone. */
const BINLOG_KEPT_SECONDS = 604_800;
/** 49.7 days: a commit that no replica has received is never acknowledged, it waits. */
const SEMISYNC_TIMEOUT_MS = 4_294_967_295;

export interface ServerPlace {
  /** Unique among the servers of the cluster, as in `s1a`. */
  readonly name: string;
  /** Unique among the servers of a triple; 1 … 2^32−1. */
  readonly serverId: number;
  readonly dataDir: string;
  /** The server's own address: its peers meet it there, and it comes from there. On macOS 127.0.0.1. */
  readonly address: string;
  readonly port: number;
  readonly adminPort: number;
  readonly socket: string;
  /** Null: standard error. */
  readonly errorLog: string | null;
  /** Where it listens; loopback and its own address by default, and the administrative port at loopback. */
  readonly listen?: { readonly addresses: string; readonly admin: string };
}

/** Options of a server of a triple, to be appended to `MysqlInstall.mysqld`. */
export function tripleServerOptions(place: ServerPlace): string[] {
  return [
    ...commonServerOptions(place),
    // Closed start; roles are given at run time and never outlive the process.
    "--super-read-only=ON",
    "--read-only=ON",
    "--skip-replica-start=ON",
    "--event-scheduler=OFF",
    // An acknowledged write is fsynced in the relay log of a replica, and no restart throws a relay log away.
    "--sync-relay-log=1",
    "--relay-log-recovery=OFF",
    "--relay-log=relay-bin",
    "--relay-log-purge=ON",
    "--relay-log-space-limit=0",
    "--plugin-load-add=semisync_source.so",
    "--plugin-load-add=semisync_replica.so",
    "--plugin-load-add=mysql_clone.so",
    "--rpl-semi-sync-source-enabled=OFF",
    "--rpl-semi-sync-replica-enabled=OFF",
    "--rpl-semi-sync-source-wait-point=AFTER_SYNC",
    "--rpl-semi-sync-source-wait-for-replica-count=1",
    "--rpl-semi-sync-source-wait-no-replica=ON",
    `--rpl-semi-sync-source-timeout=${SEMISYNC_TIMEOUT_MS}`,
    "--replica-parallel-workers=4",
    "--replica-preserve-commit-order=ON",
    "--replica-transaction-retries=10",
    "--replica-net-timeout=4",
    "--rpl-stop-replica-timeout=5",
    `--report-host=${place.address}`,
    `--report-port=${place.port}`,
  ];
}

/** Options of the control database: an ordinary writable server. */
export function controlServerOptions(place: ServerPlace): string[] {
  return commonServerOptions(place);
}

function commonServerOptions(place: ServerPlace): string[] {
  const { addresses, admin } = place.listen ?? {
    addresses: place.address === "127.0.0.1" ? "127.0.0.1" : `127.0.0.1,${place.address}`,
    admin: "127.0.0.1",
  };
  return [
    `--datadir=${place.dataDir}`,
    `--socket=${place.socket}`,
    `--pid-file=${place.dataDir}/mysqld.pid`,
    ...(place.errorLog === null ? [] : [`--log-error=${place.errorLog}`]),
    "--log-error-verbosity=2",
    `--bind-address=${addresses}`,
    `--port=${place.port}`,
    `--admin-address=${admin}`, // reachable when every ordinary connection is taken
    `--admin-port=${place.adminPort}`,
    "--create-admin-listener-thread=ON",
    `--server-id=${place.serverId}`,
    "--skip-name-resolve=ON",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--log-bin=binlog",
    "--log-replica-updates=ON",
    "--binlog-row-image=FULL",
    // A replica syncs its relay log after each event: whole transactions as one event are a fraction of the syncs.
    "--binlog-transaction-compression=ON",
    "--binlog-transaction-compression-level-zstd=1",
    "--binlog-row-event-max-size=1048576",
    "--binlog-error-action=ABORT_SERVER", // rather die than go on without a binary log
    `--binlog-expire-logs-seconds=${BINLOG_KEPT_SECONDS}`,
    "--max-binlog-size=256M",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=ON",
    "--innodb-lock-wait-timeout=5",
    "--innodb-rollback-on-timeout=ON",
    "--lock-wait-timeout=50",
    "--persisted-globals-load=OFF", // no setting of an earlier life comes back
    "--default-time-zone=+00:00",
    "--transaction-isolation=READ-COMMITTED",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_0900_bin",
    "--local-infile=OFF",
    "--loose-mysqlx=OFF",
    ...smallMachineOptions,
  ];
}

/** Ten servers share a laptop: about 300 MB resident each. */
const smallMachineOptions: readonly string[] = [
  ...dataDirectoryOptions,
  "--performance-schema=OFF",
  "--max-digest-length=0", // nobody reads digests of statements without it
  "--innodb-buffer-pool-size=64M",
  "--innodb-log-buffer-size=4M",
  // Pages are written steadily, not a quarter of the pool at once each second while every commit waits for the disk: not
  // because many are dirty (a small pool soon is all dirty), but as the redo log fills, at the pace of a small disk.
  "--innodb-max-dirty-pages-pct-lwm=0",
  "--innodb-adaptive-flushing-lwm=50",
  "--innodb-io-capacity=500",
  "--innodb-io-capacity-max=1000",
  // What was read once may stay: the index is read at random, and nothing of ours scans a table.
  "--innodb-old-blocks-time=0",
  "--innodb-lru-scan-depth=128", // pages kept free: of 4,096, not 1,024
  "--key-buffer-size=1M",
  "--temptable-max-ram=16M",
  "--max-connections=300",
  "--thread-cache-size=32",
  "--table-open-cache=400",
  "--table-definition-cache=400",
];
