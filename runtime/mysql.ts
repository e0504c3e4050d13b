import mysql from "mysql2/promise";

export type { Pool, PoolConnection, ResultSetHeader, RowDataPacket } from "mysql2/promise";

/** Where a MySQL server is and who we are there. */
export interface MysqlTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database?: string;
}

export interface PoolLimits {
  /** Connections at most. */
  readonly connectionsMax: number;
  /** Callers that may wait for a connection; one more is refused at once. */
  readonly queueMax: number;
  readonly connectTimeoutMs: number;
  /** Several statements may be sent at once. Only for callers that put statements together from checked literals. */
  readonly scripts?: boolean;
}

/**
 * A bounded pool. BIGINT and DECIMAL come as strings where a number would lose digits; times are integers (µs) in our
 * schemas, so no driver-side time zone exists; `affectedRows` counts changed rows, not found ones.
 */
export function createPool(target: MysqlTarget, limits: PoolLimits): mysql.Pool {
  return mysql.createPool({
    ...target,
    ...commonOptions,
    waitForConnections: true,
    connectionLimit: limits.connectionsMax,
    maxIdle: limits.connectionsMax,
    queueLimit: limits.queueMax,
    connectTimeout: limits.connectTimeoutMs,
    enableKeepAlive: true,
    multipleStatements: limits.scripts === true,
  });
}

/** One connection, not pooled. */
export function connect(target: MysqlTarget, connectTimeoutMs: number): Promise<mysql.Connection> {
  return mysql.createConnection({ ...target, ...commonOptions, connectTimeout: connectTimeoutMs });
}

const commonOptions = {
  // The driver writes the collation's number in one byte (utf8mb4_0900_bin is 309); columns bring their own collation.
  charset: "utf8mb4_bin",
  supportBigNumbers: true,
  bigNumberStrings: false,
  dateStrings: true,
  decimalNumbers: false,
  timezone: "Z",
  flags: ["-FOUND_ROWS"],
  multipleStatements: false,
  // The driver sets room aside for as many statements on every connection, half a megabyte for the 16,000 it would take.
  maxPreparedStatements: 32,
} satisfies mysql.ConnectionOptions;

/** The `errno` of a MySQL error, or undefined for anything else (driver errors have only a `code`). */
export function mysqlErrno(error: unknown): number | undefined {
  const errno = (error as { errno?: unknown } | null)?.errno;
  return typeof errno === "number" && errno >= 1000 ? errno : undefined;
}
