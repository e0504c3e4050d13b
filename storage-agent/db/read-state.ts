// What mysqld says of itself, in one packet of statements: cheap enough for several reads a second on every server.
import type { MysqlState, ReceiverState } from "../../core/agent-wire.ts";
import { PROCESS_LIST, processRows } from "./process-list.ts";
import { SqlError, SQL_TIMEOUT_MS } from "./session.ts";
import type { Row, Session } from "./session.ts";

const NO_SUCH_TABLE = new Set([1049, 1146]);

const VARIABLES = `@@global.server_uuid AS serverUuid, @@global.gtid_executed AS executed,
  @@global.read_only AS readOnly, @@global.super_read_only AS superReadOnly,
  @@global.rpl_semi_sync_source_enabled AS sourceArmed, @@global.rpl_semi_sync_replica_enabled AS replicaArmed,
  @@global.rpl_semi_sync_source_wait_no_replica AS waitNoReplica,
  @@global.rpl_semi_sync_source_timeout AS ackTimeoutMs,
  @@global.rpl_semi_sync_source_wait_for_replica_count AS ackCount,
  @@global.rpl_semi_sync_source_wait_point AS waitPoint,
  @@global.sync_binlog AS syncBinlog, @@global.innodb_flush_log_at_trx_commit AS flushAtCommit`;

const DETAILS = `
  (SELECT JSON_OBJECTAGG(variable_name, variable_value) FROM performance_schema.global_status
    WHERE variable_name IN ('Rpl_semi_sync_source_no_tx', 'Rpl_semi_sync_source_no_times',
      'Rpl_semi_sync_source_wait_sessions')) AS status,
  (SELECT JSON_ARRAYAGG(user) FROM mysql.user WHERE user LIKE ? AND account_locked = 'N') AS unlocked,
  (SELECT count_received_heartbeats FROM performance_schema.replication_connection_status
    WHERE channel_name = '') AS heartbeats`;

const LAG = "(SELECT TIMESTAMPDIFF(MICROSECOND, at, UTC_TIMESTAMP(6)) DIV 1000 FROM ha.beat WHERE id = 1) AS lagMs";

/** State as mysqld tells it; how long ago the receiver made progress is the watcher's to add. */
export interface RawState {
  readonly mysql: MysqlState;
  /** Changes whenever the receiver gets an event or a heartbeat. */
  readonly receiverMark: string;
  readonly settings: SourceSettings;
  readonly lagMs: number | null;
}

export interface SourceSettings {
  readonly waitNoReplica: boolean;
  readonly ackTimeoutMs: number;
  readonly ackCount: number;
  readonly waitPoint: string;
  readonly syncBinlog: number;
  readonly flushAtCommit: number;
}

/**
 * @param userPrefix of the replication accounts
 * @param armed whether it was a source when last looked at: then what only a source tells is asked for at once
 */
export async function readState(
  session: Session,
  userPrefix: string,
  timeoutMs = SQL_TIMEOUT_MS,
  armed = false,
): Promise<RawState> {
  const values = [`${userPrefix.replaceAll("_", "\\_")}%`];
  let answers: Row[][];
  try {
    answers = await session.queryAll(statements(LAG, armed), values, timeoutMs);
  } catch (error) {
    if (!(error instanceof SqlError && NO_SUCH_TABLE.has(error.errno))) throw error;
    answers = await session.queryAll(statements("NULL AS lagMs", armed), values, timeoutMs);
  }
  const [[row] = [], [replica] = [], processes] = answers;
  if (row === undefined) throw new Error("mysqld answered no row");
  if (row["sourceArmed"] !== 1) return assemble(row, replica, []);
  return assemble(row, replica, dumpThreads(processes ?? (await session.query(PROCESS_LIST, [], timeoutMs))));
}

function statements(lag: string, armed: boolean): string[] {
  const all = [`SELECT ${VARIABLES}, ${DETAILS}, ${lag}`, "SHOW REPLICA STATUS"];
  return armed ? [...all, PROCESS_LIST] : all;
}

/** Receivers of others that are connected here; of interest on a source alone. */
function dumpThreads(processes: readonly Row[]): MysqlState["dumpThreads"] {
  return processRows(processes)
    .filter((thread) => thread.command.startsWith("Binlog Dump"))
    .map(({ id, user, host }) => ({ id, user, host }));
}

function assemble(row: Row, replica: Row | undefined, connected: MysqlState["dumpThreads"]): RawState {
  const status = json<Record<string, string>>(row["status"], {});
  const sourceArmed = row["sourceArmed"] === 1;
  const superReadOnly = row["superReadOnly"] === 1;
  const settings = {
    waitNoReplica: row["waitNoReplica"] === 1,
    ackTimeoutMs: Number(row["ackTimeoutMs"]),
    ackCount: Number(row["ackCount"]),
    waitPoint: String(row["waitPoint"]),
    syncBinlog: Number(row["syncBinlog"]),
    flushAtCommit: Number(row["flushAtCommit"]),
  };
  const mysql: MysqlState = {
    serverUuid: String(row["serverUuid"]),
    executed: gtids(row["executed"]),
    retrieved: gtids(replica?.["Retrieved_Gtid_Set"]),
    readOnly: row["readOnly"] === 1,
    superReadOnly,
    sourceArmed,
    replicaArmed: row["replicaArmed"] === 1,
    // The only way back to super_read_only=ON goes through a statement that waits for every commit in flight: so its
    // present value tells what has been since mysqld's start.
    stained: !superReadOnly,
    waitSessions: Number(status["Rpl_semi_sync_source_wait_sessions"] ?? 0),
    noTx: Number(status["Rpl_semi_sync_source_no_tx"] ?? 0),
    noTimes: Number(status["Rpl_semi_sync_source_no_times"] ?? 0),
    receiver: replica === undefined ? null : receiver(replica, Number(row["heartbeats"] ?? 0)),
    dumpThreads: connected,
    unlockedAccounts: json<string[]>(row["unlocked"], []).toSorted(),
    relaxed: settings.syncBinlog !== 1 || settings.flushAtCommit !== 1,
  };
  const mark =
    replica === undefined
      ? ""
      : [row["heartbeats"], replica["Source_Log_File"], replica["Read_Source_Log_Pos"], mysql.retrieved].join("/");
  const lagMs = row["lagMs"] === null || mysql.executed === "" ? null : Number(row["lagMs"]);
  return { mysql, receiverMark: mark, settings, lagMs };
}

function receiver(replica: Row, heartbeats: number): ReceiverState {
  const io = String(replica["Replica_IO_Running"]);
  return {
    io: io === "Yes" || io === "Connecting" ? io : "No",
    applierRunning: replica["Replica_SQL_Running"] === "Yes",
    sourceHost: text(replica["Source_Host"]),
    sourcePort: Number(replica["Source_Port"] ?? 0),
    sourceUuid: text(replica["Source_UUID"]),
    heartbeats,
    receiving: false,
    lastProgressAgeMs: null,
    ioErrno: Number(replica["Last_IO_Errno"] ?? 0),
    ioError: text(replica["Last_IO_Error"]).slice(0, 500),
    applierErrno: Number(replica["Last_SQL_Errno"] ?? 0),
    applierError: text(replica["Last_SQL_Error"]).slice(0, 500),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function gtids(value: unknown): string {
  return text(value).replaceAll(/\s/g, "");
}

function json<T>(value: unknown, none: T): T {
  if (value === null || value === undefined) return none;
  return (typeof value === "string" ? JSON.parse(value) : value) as T;
}
