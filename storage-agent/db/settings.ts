import type { Session } from "./session.ts";

const REQUIRED: readonly [name: string, wanted: readonly string[]][] = [
  ["relay_log_recovery", ["0", "OFF"]], // ON throws acknowledged transactions away after a crash
  ["skip_replica_start", ["1", "ON"]],
  ["sync_relay_log", ["1"]], // else the acknowledgement is not a write to disk
  ["gtid_mode", ["ON"]],
  ["enforce_gtid_consistency", ["ON"]],
  ["log_replica_updates", ["1", "ON"]],
  ["replica_preserve_commit_order", ["1", "ON"]],
  ["rpl_semi_sync_source_wait_point", ["AFTER_SYNC"]],
];

/** Settings from the server's start that would lose acknowledged writes; empty when all are right. */
export async function wrongSettings(session: Session): Promise<string[]> {
  const columns = REQUIRED.map(([name]) => `@@global.${name} AS ${name}`).join(", ");
  const [row] = await session.query(`SELECT ${columns}`);
  return REQUIRED.filter(([name, wanted]) => !wanted.includes(String(row?.[name]).toUpperCase())).map(
    ([name, wanted]) => `${name} is ${String(row?.[name])}, must be ${wanted.at(-1)}`,
  );
}

/** True when no transaction and no stripe schema was ever here. */
export async function isPristine(session: Session): Promise<boolean> {
  const [row] = await session.query<{ executed: string; stripeSchemas: number }>(
    "SELECT @@global.gtid_executed AS executed, (SELECT COUNT(*) FROM information_schema.schemata " +
      "WHERE schema_name LIKE 'stripe\\_%') AS stripeSchemas",
  );
  return row?.executed === "" && Number(row.stripeSchemas) === 0;
}
