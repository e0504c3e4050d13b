import type { ResultSetHeader, RowDataPacket } from "../../runtime/mysql.ts";
import type { Sql } from "./control-db.ts";

export interface SwitchoverRequest {
  readonly requestId: string;
  /** Null: the controller chooses. */
  readonly target: string | null;
}

export type SwitchoverState = "RUNNING" | "DONE" | "REFUSED" | "UNDONE" | "EXPIRED";

interface RequestRow extends RowDataPacket {
  readonly request_id: string;
  readonly target: string | null;
  readonly state: "WAITING" | "RUNNING";
  readonly late: 0 | 1;
}

/**
 * The oldest request that waits for a triple's leader. Those that are too old expire, and those whose controller went
 * away in the middle are told how they ended. One statement as long as there is none.
 * @param src who leads, when the record is idle; null: a recovery runs, and none is to be begun
 */
export async function openSwitchover(
  sql: Sql,
  tripleId: string,
  src: string | null,
): Promise<SwitchoverRequest | null> {
  const [rows] = await sql.query<RequestRow[]>(
    `SELECT request_id, target, state, expire_time <= UTC_TIMESTAMP(3) AS late FROM switchover_requests
      WHERE triple_id = ? AND state IN ('WAITING', 'RUNNING') ORDER BY request_time`,
    [tripleId],
  );
  if (src !== null && rows.some(({ state }) => state === "RUNNING")) await settleAbandoned(sql, tripleId, src);
  if (rows.some(({ state, late }) => state === "WAITING" && late === 1)) await expireLate(sql, tripleId);
  const next = rows.find(({ state, late }) => state === "WAITING" && late === 0);
  return next === undefined || src === null ? null : { requestId: next.request_id, target: next.target };
}

async function expireLate(sql: Sql, tripleId: string): Promise<void> {
  await sql.query(
    `UPDATE switchover_requests SET state = 'EXPIRED', finish_time = UTC_TIMESTAMP(3)
      WHERE triple_id = ? AND state = 'WAITING' AND expire_time <= UTC_TIMESTAMP(3)`,
    [tripleId],
  );
}

/** Moves a request on. False when it was not in `from` any more. */
export async function moveSwitchover(
  sql: Sql,
  requestId: string,
  from: "WAITING" | "RUNNING",
  to: SwitchoverState,
  detail: string | null,
  recoveryId: string | null,
): Promise<boolean> {
  const [result] = await sql.query<ResultSetHeader>(
    `UPDATE switchover_requests
        SET state = ?, detail = ?, recovery_id = COALESCE(?, recovery_id),
            finish_time = IF(? = 'RUNNING', NULL, UTC_TIMESTAMP(3))
      WHERE request_id = ? AND state = ?`,
    [to, detail, recoveryId, to, requestId, from],
  );
  return result.affectedRows === 1;
}

/** Asks for a switchover. @param target null = the controller chooses */
export async function requestSwitchover(
  sql: Sql,
  request: { requestId: string; tripleId: string; target: string | null; requestedBy: string; validMs: number },
): Promise<void> {
  const { requestId, tripleId, target, requestedBy, validMs } = request;
  await sql.query(
    `INSERT INTO switchover_requests (request_id, triple_id, target, requested_by, request_time, expire_time)
     VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)`,
    [requestId, tripleId, target, requestedBy, validMs * 1_000],
  );
}

async function settleAbandoned(sql: Sql, tripleId: string, src: string): Promise<void> {
  await sql.query(
    `UPDATE switchover_requests
        SET state = IF(target = ?, 'DONE', 'UNDONE'), finish_time = UTC_TIMESTAMP(3),
            detail = CONCAT('its controller went away; ', ?, ' leads')
      WHERE triple_id = ? AND state = 'RUNNING'`,
    [src, src, tripleId],
  );
}
