// Bringing the schemas of a cluster up to date. Whoever calls this is the only one who migrates there: a lock that a
// killed migration has left is nobody's.
import { schemaName } from "../core/ids.ts";
import { CONTROL_SCHEMA, migrateControl, migrateStripe, migrateUnlock } from "../migrations/migrate.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import { PLACE } from "./plan.ts";

/** @param target the control database, with an account that may run DDL */
export async function bringControlUpToDate(target: MysqlTarget): Promise<void> {
  await unlessLocked("control", target, CONTROL_SCHEMA, () => migrateControl(target));
}

/** @param target the stripe's source, with an account that may run DDL */
export async function bringStripeUpToDate(target: MysqlTarget, stripe: number): Promise<void> {
  await unlessLocked("stripe", target, schemaName(stripe, PLACE), () => migrateStripe(target, stripe, PLACE));
}

async function unlessLocked(
  set: "stripe" | "control",
  target: MysqlTarget,
  schema: string,
  migrate: () => Promise<unknown>,
): Promise<void> {
  try {
    await migrate();
  } catch (error) {
    if (!(error instanceof Error) || !/lock/i.test(error.name + error.message)) throw error;
    await migrateUnlock(set, target, schema);
    await migrate();
  }
}
