import knex, { type Knex } from "knex";
import type { MysqlTarget } from "../../runtime/mysql.ts";

const CONNECTIONS_MAX = 8;
const ACQUIRE_TIMEOUT_MS = 3_000;
const CONNECT_TIMEOUT_MS = 2_000;

/** A bounded knex pool on the control database; every wait for a connection ends after three seconds. */
export function openControl(target: MysqlTarget): Knex {
  return knex({
    client: "mysql2",
    connection: { ...target, connectTimeout: CONNECT_TIMEOUT_MS, dateStrings: true, timezone: "Z" },
    pool: { min: 0, max: CONNECTIONS_MAX },
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
  });
}
