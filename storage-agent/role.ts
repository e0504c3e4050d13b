import type { MysqlState, ServerRole } from "../core/agent-wire.ts";

/** The role that mysqld's own settings amount to; null state = it does not answer. */
export function roleOf(mysql: MysqlState | null): ServerRole {
  if (mysql === null) return "down";
  const receiverStopped = mysql.receiver === null || mysql.receiver.io === "No";
  if (mysql.superReadOnly) {
    return receiverStopped && !mysql.replicaArmed ? "closed" : "follower";
  }
  if (mysql.sourceArmed && !mysql.superReadOnly && receiverStopped) return mysql.readOnly ? "prepared" : "open";
  return "other";
}

/** Neither writes nor acknowledges. The source's side may still be about to be disarmed, see `revoke`. */
export function isClosed(mysql: MysqlState): boolean {
  return roleOf(mysql) === "closed";
}
