import type { Session } from "./session.ts";

const REQUIRED: readonly [name: string, wanted: readonly string[]][] = [
  ["relay_log_recovery", ["0", "OFF"]], // ON throws acknowledged transactions away after a crash
  ["skip_replica_start", ["1", "ON"]],
  ["persisted_globals_load", ["0", "OFF"]], // else a role of an earlier life may come back at a start
  ["sync_relay_log", ["1"]], // else the acknowledgement is not a write to disk
  ["gtid_mode", ["ON"]],
  ["enforce_gtid_consistency", ["ON"]],
  ["log_replica_updates", ["1", "ON"]],
  ["replica_preserve_commit_order", ["1", "ON"]],
  ["rpl_semi_sync_source_wait_point", ["AFTER_SYNC"]],
];

/** Of those, what a hand may have changed on a running server, and what may be set right there as well. */
const MENDABLE: ReadonlySet<string> = new Set(["sync_relay_log", "rpl_semi_sync_source_wait_point"]);

/**
 * Settings that would lose acknowledged writes; empty when all are right. What was changed since the server's start is
 * set right first, and told to `onMended`.
 */
export async function wrongSettings(session: Session, onMended: (what: string) => void): Promise<string[]> {
  const columns = REQUIRED.map(([name]) => `@@global.${name} AS ${name}`).join(", ");
  const [row] = await session.query(`SELECT ${columns}`);
  const wrong: string[] = [];
  for (const [name, wanted] of REQUIRED) {
    if (wanted.includes(String(row?.[name]).toUpperCase())) continue;
    const what = `${name} is ${String(row?.[name])}, must be ${wanted.at(-1)}`;
    if (!MENDABLE.has(name)) wrong.push(what);
    else {
      await session.query(`SET GLOBAL ${name} = ${wanted.at(-1)}`);
      onMended(what);
    }
  }
  return wrong;
}

/** True when no transaction and no stripe schema was ever here. */
export async function isPristine(session: Session): Promise<boolean> {
  const [row] = await session.query<{ executed: string; stripeSchemas: number }>(
    "SELECT @@global.gtid_executed AS executed, (SELECT COUNT(*) FROM information_schema.schemata " +
      "WHERE schema_name LIKE 'stripe\\_%') AS stripeSchemas",
  );
  return row?.executed === "" && Number(row.stripeSchemas) === 0;
}
