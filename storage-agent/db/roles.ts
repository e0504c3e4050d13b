// The statements that make a server closed, source or replica. Each is GLOBAL and never PERSIST: after a restart the
// server is closed, whatever it was.
import type { SourceSettings } from "./read-state.ts";
import { SqlError } from "./session.ts";
import type { Session } from "./session.ts";

/** Error of a statement that has waited for a lock for as long as it may. */
export const LOCK_WAIT_TIMEOUT = 1205;
const CLOSE_TIMEOUT_MS = 4_000;
/** 49.7 days: never fall back to asynchronous replication. */
const ACK_TIMEOUT_MS = 4_294_967_295;

/**
 * super_read_only=ON: waits for the commits in flight, up to about a second.
 * @returns false when they still wait (nothing has changed then)
 */
export async function closeGracefully(session: Session): Promise<boolean> {
  await session.query("SET SESSION lock_wait_timeout = 1");
  try {
    await session.query("SET GLOBAL super_read_only = ON", [], CLOSE_TIMEOUT_MS);
    return true;
  } catch (error) {
    if (error instanceof SqlError && error.errno === LOCK_WAIT_TIMEOUT) return false;
    throw error;
  }
}

/** Lets account changes pass while clients still cannot write. */
export async function allowAdministrativeWrites(session: Session): Promise<void> {
  await session.query("SET GLOBAL read_only = ON");
  await session.query("SET GLOBAL super_read_only = OFF");
}

export async function makeWritable(session: Session): Promise<void> {
  await session.query("SET GLOBAL read_only = OFF");
}

/** Source settings first, arming apart: see `armSource`. */
export async function setSourceSettings(session: Session): Promise<void> {
  await session.query("SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 1");
  await session.query(`SET GLOBAL rpl_semi_sync_source_timeout = ${ACK_TIMEOUT_MS}`);
  await session.query("SET GLOBAL rpl_semi_sync_source_wait_no_replica = ON");
}

export async function armSource(session: Session): Promise<void> {
  await session.query("SET GLOBAL rpl_semi_sync_source_enabled = ON");
}

/**
 * Switches the source's side off. Releases every waiting commit as if it were acknowledged, so it is allowed only on a
 * server whose super_read_only is ON: then none can be waiting. Takes up to a second: the thread that reads
 * acknowledgements polls that long.
 * @throws Error when the server is not closed
 */
export async function disarmSource(session: Session): Promise<void> {
  const [row] = await session.query<{ closed: number }>("SELECT @@global.super_read_only AS closed");
  if (row?.closed !== 1) throw new Error("semi-sync must not be switched off on a server that is not closed");
  await session.query("SET GLOBAL rpl_semi_sync_source_enabled = OFF", [], CLOSE_TIMEOUT_MS);
}

export async function setReplicaArmed(session: Session, armed: boolean): Promise<void> {
  await session.query(`SET GLOBAL rpl_semi_sync_replica_enabled = ${armed ? "ON" : "OFF"}`);
}

/** Which of the settings of a source are not what they must be; empty when all are right. */
export function wrongSourceSettings(settings: SourceSettings): string[] {
  const wrong: string[] = [];
  if (!settings.waitNoReplica) wrong.push("rpl_semi_sync_source_wait_no_replica is OFF");
  if (settings.ackTimeoutMs < ACK_TIMEOUT_MS) wrong.push(`rpl_semi_sync_source_timeout is ${settings.ackTimeoutMs}`);
  if (settings.ackCount !== 1) wrong.push(`rpl_semi_sync_source_wait_for_replica_count is ${settings.ackCount}`);
  if (settings.waitPoint !== "AFTER_SYNC") wrong.push(`rpl_semi_sync_source_wait_point is ${settings.waitPoint}`);
  if (settings.syncBinlog !== 1) wrong.push(`sync_binlog is ${settings.syncBinlog}`);
  if (settings.flushAtCommit !== 1) wrong.push(`innodb_flush_log_at_trx_commit is ${settings.flushAtCommit}`);
  return wrong;
}
