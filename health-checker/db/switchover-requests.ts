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
}

/** The oldest request that waits for a triple's leader; those that are too old expire. */
export async function waitingSwitchover(sql: Sql, tripleId: string): Promise<SwitchoverRequest | null> {
  const [rows] = await sql.query<RequestRow[]>(
    `SELECT request_id, target FROM switchover_requests
      WHERE triple_id = ? AND state = 'WAITING' AND expire_time > UTC_TIMESTAMP(3)
      ORDER BY request_time LIMIT 1`,
    [tripleId],
  );
  if (rows[0] !== undefined) return { requestId: rows[0].request_id, target: rows[0].target };
  await sql.query(
    `UPDATE switchover_requests SET state = 'EXPIRED', finish_time = UTC_TIMESTAMP(3)
      WHERE triple_id = ? AND state = 'WAITING' AND expire_time <= UTC_TIMESTAMP(3)`,
    [tripleId],
  );
  return null;
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

/** Tells how requests ended whose controller went away in the middle: by who leads now that the record is idle. */
export async function settleAbandonedSwitchovers(sql: Sql, tripleId: string, src: string): Promise<void> {
  await sql.query(
    `UPDATE switchover_requests
        SET state = IF(target = ?, 'DONE', 'UNDONE'), finish_time = UTC_TIMESTAMP(3),
            detail = CONCAT('its controller went away; ', ?, ' leads')
      WHERE triple_id = ? AND state = 'RUNNING'`,
    [src, src, tripleId],
  );
}
