// A stripe's database on a scratch server, as a failover would have left it: the `ha` schema with an identity, a beat
// and an epoch, the migrated schema of one place, and its first rows.
import { BUCKET_COUNT } from "../../core/placement.ts";
import { schemaName } from "../../core/ids.ts";
import { type ScratchServer, startScratchServer } from "../../local-cluster/scratch-server.ts";
import { migrateStripe } from "../../migrations/migrate.ts";
import { connect, type MysqlTarget } from "../../runtime/mysql.ts";

const CONNECT_TIMEOUT_MS = 5_000;

export interface StripeDatabase extends AsyncDisposable {
  readonly server: ScratchServer;
  readonly target: MysqlTarget & { readonly database: string };
  readonly stripe: number;
  readonly place: number;
  /** Runs one statement. @returns its rows */
  sql(statement: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends the connection of `sql` alone, for servers that several stripes share. */
  close(): Promise<void>;
}

export interface StripeSeed {
  readonly stripe: number;
  readonly place?: number;
  readonly tripleId?: string;
  /** Buckets that the stripe is home to; all by default. */
  readonly homeBuckets?: readonly number[];
}

const HA_SCHEMA = [
  "CREATE DATABASE IF NOT EXISTS ha",
  "CREATE TABLE IF NOT EXISTS ha.identity (only_row TINYINT PRIMARY KEY DEFAULT 1, triple_id VARCHAR(64) NOT NULL)",
  "CREATE TABLE IF NOT EXISTS ha.beat (id TINYINT UNSIGNED PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, at DATETIME(6) NOT NULL)",
  "CREATE TABLE IF NOT EXISTS ha.epoch (epoch BIGINT UNSIGNED PRIMARY KEY, server VARCHAR(32) NOT NULL, " +
    "server_uuid CHAR(36) NOT NULL, opened_at DATETIME(6) NOT NULL)",
  // Nobody beats here, and the source leads as long as the test lasts.
  "REPLACE INTO ha.beat VALUES (1, 1, UTC_TIMESTAMP(6) + INTERVAL 1 DAY)",
  "REPLACE INTO ha.epoch VALUES (1, 's1a', @@server_uuid, UTC_TIMESTAMP(6))",
];

/** Starts a server with one stripe's database. Dispose ends and removes it. */
export async function startStripeDatabase(
  seed: StripeSeed,
  extraOptions: readonly string[] = [],
): Promise<StripeDatabase> {
  const server = await startScratchServer(extraOptions);
  try {
    return await seedStripe(server, seed);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/** Adds a stripe's database to a server; several stripes can share one (of one triple). */
export async function seedStripe(server: ScratchServer, seed: StripeSeed): Promise<StripeDatabase> {
  const { stripe, place = 1, tripleId = "t1" } = seed;
  const homeBuckets = seed.homeBuckets ?? Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket);
  await migrateStripe(server.target, stripe, place);
  const database = schemaName(stripe, place);
  const connection = await connect({ ...server.target, database }, CONNECT_TIMEOUT_MS);
  const sql = async (statement: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> => {
    const [rows] = await connection.query(statement, [...values]);
    return rows as Record<string, unknown>[];
  };
  for (const statement of HA_SCHEMA) await sql(statement);
  await sql("REPLACE INTO ha.identity (only_row, triple_id) VALUES (1, ?)", [tripleId]);
  await sql(
    "INSERT INTO stripe_state (id, place, triple_id, role, accepts_creates, accepts_writes) VALUES (1, ?, ?, 'PLACE', 1, 1)",
    [place, tripleId],
  );
  if (homeBuckets.length > 0) {
    await sql("INSERT INTO bucket_state (bucket, role) VALUES ?", [homeBuckets.map((bucket) => [bucket, "HOME"])]);
  }
  return {
    server,
    target: { ...server.target, database },
    stripe,
    place,
    sql,
    close: () => connection.end(),
    [Symbol.asyncDispose]: async () => {
      await connection.end();
      await server[Symbol.asyncDispose]();
    },
  };
}
