// What an error of MySQL or of the driver means for a transaction. An error is a fact about one of two moments: before
// COMMIT was sent nothing can have been written (sessions run with autocommit off, a lost one is rolled back); after
// it only an error packet of the server is a certain "no".
import { DomainError } from "../../core/errors.ts";
import { mysqlErrno } from "../../runtime/mysql.ts";

export type Fault =
  /** Deadlock or lock wait: the same transaction may be tried again. */
  | "contended"
  /** The server takes no writes; it refused, so nothing was written. */
  | "read-only"
  /** The session ended; what the last statement did is unknown. */
  | "lost"
  /** The server has no room for another connection. */
  | "full"
  /** Neither; a fault of ours or of the schema. */
  | "other";

const CONTENDED: ReadonlySet<number> = new Set([1205, 1213, 3572]);
/** 1290 --read-only, 1792/1836 read-only transaction or mode, 3100 a replication hook refused the commit. */
const READ_ONLY: ReadonlySet<number> = new Set([1290, 1792, 1836, 3100]);
/** 1053 shutdown in progress, 1927/3169/4031 session ended by the server. 1317 interrupted: its commit may be in. */
const LOST: ReadonlySet<number> = new Set([1053, 1317, 1927, 3169, 4031]);
/** 1040 and 1203: too many connections. */
const FULL: ReadonlySet<number> = new Set([1040, 1203]);

/** Classifies a driver error; codes without a MySQL number come from the socket. */
export function faultOf(error: unknown): Fault {
  const errno = mysqlErrno(error);
  if (errno !== undefined) {
    if (CONTENDED.has(errno)) return "contended";
    if (READ_ONLY.has(errno)) return "read-only";
    if (LOST.has(errno)) return "lost";
    if (FULL.has(errno)) return "full";
    return "other";
  }
  return isConnectionError(error) ? "lost" : "other";
}

/** ECONNRESET, EPIPE, PROTOCOL_CONNECTION_LOST, …; not Node's own ERR_…, which are faults of a program. */
const CONNECTION_CODE = /^(E[A-Z]+|EAI_[A-Z]+|PROTOCOL_[A-Z_]+)$/;

function isConnectionError(error: unknown): boolean {
  const { code, fatal } = (error ?? {}) as { code?: unknown; fatal?: unknown };
  return fatal === true || (typeof code === "string" && CONNECTION_CODE.test(code));
}

const NAMELESS = "unknown";

/** An unexpected error without its text: the driver's messages and `sql` hold values, a payer's among them. */
export class StorageError extends Error {
  readonly errno: number | undefined;
  readonly code: string;

  constructor(error: unknown) {
    const code = (error as { code?: unknown } | null)?.code;
    const name = typeof code === "string" ? code : NAMELESS;
    const errno = mysqlErrno(error);
    super(`MySQL error ${errno ?? ""} ${name}`);
    this.name = "StorageError";
    this.errno = errno;
    this.code = name;
  }
}

/** Whether the error came from the driver or the server, and so may carry values in its text. */
export function isDriverError(error: unknown): boolean {
  return mysqlErrno(error) !== undefined || isConnectionError(error);
}

const RETRY_AFTER_S = 1;

export function unavailable(detail: string): DomainError {
  return new DomainError("STRIPE_UNAVAILABLE", detail, { retryAfterS: RETRY_AFTER_S });
}

export function overloaded(detail: string): DomainError {
  return new DomainError("OVERLOADED", detail, { retryAfterS: RETRY_AFTER_S });
}

export function readOnly(): DomainError {
  return new DomainError("STRIPE_READ_ONLY", "the stripe's source takes no writes now; nothing was written", {
    retryAfterS: RETRY_AFTER_S,
  });
}

export function notDurable(): DomainError {
  return new DomainError(
    "NOT_DURABLE",
    "the commit was sent and not confirmed; a retry with the same numbers is safe",
    {
      retryAfterS: RETRY_AFTER_S,
    },
  );
}
