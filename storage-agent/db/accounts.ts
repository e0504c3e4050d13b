// Who may connect as a replica. The changes are local to the server (sql_log_bin=0), work while commits wait for an
// acknowledgement, and outlive a kill -9 of mysqld.
import { sleep } from "../../runtime/clock.ts";
import type { Deadline } from "../../runtime/clock.ts";
import { processList } from "./process-list.ts";
import type { Session } from "./session.ts";
import { kill } from "./sweep.ts";

const POLL_MS = 10;

/** Unlocks exactly the accounts in `allowed` among those that begin with `userPrefix`; then ends all other dump threads. */
export async function allowReplicas(
  session: Session,
  userPrefix: string,
  allowed: readonly string[],
  deadline: Deadline,
): Promise<void> {
  for (const { user } of await replicationAccounts(session, userPrefix)) {
    await setLocked(session, user, !allowed.includes(user));
  }
  await endDumpThreads(session, (user) => !allowed.includes(user), deadline);
}

export async function admitReplica(session: Session, user: string): Promise<void> {
  await setLocked(session, user, false);
}

export async function cutReplica(session: Session, user: string, deadline: Deadline): Promise<void> {
  await setLocked(session, user, true);
  await endDumpThreads(session, (of) => of === user, deadline);
}

function replicationAccounts(session: Session, userPrefix: string): Promise<{ user: string }[]> {
  return session.query<{ user: string }>("SELECT user AS user FROM mysql.user WHERE user LIKE ?", [
    `${userPrefix.replaceAll("_", "\\_")}%`,
  ]);
}

async function setLocked(session: Session, user: string, locked: boolean): Promise<void> {
  await session.query("SET SESSION sql_log_bin = 0");
  try {
    await session.query(`ALTER USER ?@'%' ACCOUNT ${locked ? "LOCK" : "UNLOCK"}`, [user]);
  } finally {
    if (!session.lost) await session.query("SET SESSION sql_log_bin = 1");
  }
}

/** Kills matching dump threads until two reads of the process list in a row show none. */
async function endDumpThreads(session: Session, matches: (user: string) => boolean, deadline: Deadline): Promise<void> {
  for (let clean = 0; clean < 2; ) {
    const rows = await processList(session);
    if (!rows.some((row) => row.id === session.id))
      throw new Error("the process list does not show the agent's own session");
    const found = rows.filter((row) => row.command.startsWith("Binlog Dump") && matches(row.user));
    clean = found.length === 0 ? clean + 1 : 0;
    if (clean === 2) return;
    if (deadline.passed) throw new Error(`${found.length} dump threads do not end`);
    for (const { id } of found) await kill(session, id);
    await sleep(POLL_MS);
  }
}
