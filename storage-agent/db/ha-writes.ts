// The agent's own replicated writes, all in schema `ha`. They run on sessions of the watch account: one that waits for
// an acknowledgement cannot be ended, and must not stand in the way of the sweep.
import { NUDGE_ROWS } from "./bootstrap-sql.ts";
import type { Session } from "./session.ts";

/** One beat; resolves when it is committed, which means acknowledged by a replica. */
export async function writeBeat(session: Session, timeoutMs: number): Promise<void> {
  await session.query("UPDATE ha.beat SET n = n + 1, at = UTC_TIMESTAMP(6) WHERE id = 1", [], timeoutMs);
}

/** A write that commits only when acknowledgements flow; `turn` picks a row, so that two never wait for one lock. */
export async function writeNudge(session: Session, turn: number, timeoutMs: number): Promise<void> {
  await session.query(
    "UPDATE ha.nudge SET n = n + 1, at = UTC_TIMESTAMP(6) WHERE id = ?",
    [turn % NUDGE_ROWS],
    timeoutMs,
  );
}

/** Which triple this data belongs to; null when no source was ever opened on it. */
export async function readIdentity(session: Session): Promise<string | null> {
  const [row] = await session.query<{ tripleId: string }>("SELECT triple_id AS tripleId FROM ha.identity");
  return row?.tripleId ?? null;
}

/** First writes of a reign. Repeating them changes nothing. */
export async function writeReign(
  session: Session,
  reign: { readonly tripleId: string; readonly epoch: number; readonly server: string },
  timeoutMs: number,
): Promise<void> {
  await session.query(
    "INSERT IGNORE INTO ha.identity (only_row, triple_id) VALUES (1, ?)",
    [reign.tripleId],
    timeoutMs,
  );
  await session.query(
    "INSERT IGNORE INTO ha.epoch (epoch, server, server_uuid, opened_at) " +
      "VALUES (?, ?, @@global.server_uuid, UTC_TIMESTAMP(6))",
    [reign.epoch, reign.server],
    timeoutMs,
  );
}
