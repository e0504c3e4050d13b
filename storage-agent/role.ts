import type { MysqlState, ServerRole } from "../core/agent-wire.ts";

/** The role that mysqld's own settings amount to; null state = it does not answer. */
export function roleOf(mysql: MysqlState | null): ServerRole {
  if (mysql === null) return "down";
  const receiverStopped = mysql.receiver === null || mysql.receiver.io === "No";
  if (mysql.superReadOnly && !mysql.sourceArmed) {
    return receiverStopped && !mysql.replicaArmed ? "closed" : "follower";
  }
  if (mysql.sourceArmed && !mysql.superReadOnly && receiverStopped) return mysql.readOnly ? "prepared" : "open";
  return "other";
}

/** No effect of a source: super_read_only, semi-sync off on the source's side, receiver stopped. */
export function isClosed(mysql: MysqlState): boolean {
  return roleOf(mysql) === "closed";
}
