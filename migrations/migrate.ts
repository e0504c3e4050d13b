// Runs migrations. Names are stored without a file extension, so that it does not matter how the files are run.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import knex, { type Knex } from "knex";
import { schemaName } from "../core/ids.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";

export type MigrationSet = "stripe" | "control";

const CONNECT_TIMEOUT_MS = 5_000;
const SCHEMA = /^[a-z0-9_]{1,64}$/;

/** Names of a set's migrations in order: `YYYYMMDDHHMMSS_verb_noun`. */
export function migrationNames(set: MigrationSet): string[] {
  return readdirSync(fileURLToPath(new URL(`./${set}`, import.meta.url)))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -3))
    .sort();
}

class Source implements Knex.MigrationSource<string> {
  readonly #set: MigrationSet;

  constructor(set: MigrationSet) {
    this.#set = set;
  }

  getMigrations(): Promise<string[]> {
    return Promise.resolve(migrationNames(this.#set));
  }

  getMigrationName(name: string): string {
    return name;
  }

  getMigration(name: string): Promise<Knex.Migration> {
    return import(`./${this.#set}/${name}.ts`) as Promise<Knex.Migration>;
  }
}

function connectKnex(target: MysqlTarget, database?: string): Knex {
  const { host, port, user, password } = target;
  return knex({
    client: "mysql2",
    connection: {
      host,
      port,
      user,
      password,
      ...(database === undefined ? {} : { database }),
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    pool: { min: 0, max: 1 },
  });
}

/** Creates the schema when it is missing, and lends a connection to it. */
export async function withSchema<T>(target: MysqlTarget, schema: string, work: (db: Knex) => Promise<T>): Promise<T> {
  if (!SCHEMA.test(schema)) throw new Error(`bad schema name ${JSON.stringify(schema)}`);
  const server = connectKnex(target);
  try {
    await server.raw(`CREATE SCHEMA IF NOT EXISTS ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin`);
  } finally {
    await server.destroy();
  }
  const db = connectKnex(target, schema);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/**
 * Brings a schema to the newest version, creating it when it is missing. Safe to run again and by several at once
 * (knex holds a lock; a lock left by a killed run is reported, see `unlock`).
 * @param target an account that may run DDL
 * @returns the names that were run now
 */
export function migrateUp(set: MigrationSet, target: MysqlTarget, schema: string): Promise<string[]> {
  return withSchema(target, schema, async (db) => {
    const [, ran] = (await db.migrate.latest({ migrationSource: new Source(set) })) as [number, string[]];
    return ran;
  });
}

/** Undoes the last batch. @returns the names that were undone */
export function migrateDown(set: MigrationSet, target: MysqlTarget, schema: string): Promise<string[]> {
  return withSchema(target, schema, async (db) => {
    const [, undone] = (await db.migrate.rollback({ migrationSource: new Source(set) })) as [number, string[]];
    return undone;
  });
}

/** Frees the lock that a killed run left behind. */
export function migrateUnlock(set: MigrationSet, target: MysqlTarget, schema: string): Promise<void> {
  return withSchema(target, schema, async (db) => {
    await db.migrate.forceFreeMigrationsLock({ migrationSource: new Source(set) });
  });
}

/** The control database's schema. */
export const CONTROL_SCHEMA = "control";

/** Migrates the control database. */
export function migrateControl(target: MysqlTarget): Promise<string[]> {
  return migrateUp("control", target, CONTROL_SCHEMA);
}

/** Migrates the schema of one place of a stripe, e.g. `stripe_0007_p1`. */
export function migrateStripe(target: MysqlTarget, stripe: number, place: number): Promise<string[]> {
  return migrateUp("stripe", target, schemaName(stripe, place));
}
