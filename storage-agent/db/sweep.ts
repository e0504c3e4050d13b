// SQL of an earlier agent, or of this one before a time-out, may sit unread in the socket of a stopped mysqld and run
// when it wakes up: a START REPLICA after the STOP that was to be final. So before a new session is used, every other
// session of the agent's account is killed and seen gone.
import { sleep } from "../../runtime/clock.ts";
import type { Deadline } from "../../runtime/clock.ts";
import { processList } from "./process-list.ts";
import { SqlError } from "./session.ts";
import type { Session } from "./session.ts";

const POLL_MS = 10;
const UNKNOWN_THREAD = 1094;

/** Other sessions of the agent's account could not be ended in time. */
export class NotSwept extends Error {
  override readonly name = "NotSwept";
}

/**
 * Ends every other session of this session's account.
 * @throws NotSwept when one is still there at the deadline, or when the process list does not show this session itself
 */
export async function sweep(session: Session, user: string, deadline: Deadline): Promise<void> {
  for (;;) {
    const rows = (await processList(session)).filter((row) => row.user === user);
    if (!rows.some((row) => row.id === session.id)) {
      throw new NotSwept("the process list does not show the agent's own session");
    }
    const others = rows.filter((row) => row.id !== session.id);
    if (others.length === 0) return;
    if (deadline.passed) throw new NotSwept(`${others.length} older sessions of ${user} do not end`);
    for (const { id } of others) await kill(session, id);
    await sleep(POLL_MS);
  }
}

/** Ends one session; that it is gone already is fine. */
export async function kill(session: Session, id: number): Promise<void> {
  try {
    await session.query(`KILL ${Number(id)}`);
  } catch (error) {
    if (!(error instanceof SqlError && error.errno === UNKNOWN_THREAD)) throw error;
  }
}
