import { BUCKET_COUNT } from "../../../core/placement.ts";
import { type RoutingTable, routingTableSchema } from "../../../core/routing-table.ts";
import type { connect, RowDataPacket } from "../../mysql.ts";
import { readRoutingVersion } from "./read-routing-version.ts";

type Connection = Awaited<ReturnType<typeof connect>>;
type Row = RowDataPacket & Record<string, unknown>;

/** More rows than this are refused: a table of that size is a mistake, and would not fit the memory of a proxy. */
const ROWS_MAX = 1_000_000;

const STRIPES_SQL = `SELECT stripe, version, place, triple_id AS tripleId, temperature, weight,
    partition_name AS ${"`partition`"}, blocked, services
  FROM stripes ORDER BY stripe`;
const BUCKETS_SQL = "SELECT partition_name, bucket, stripe FROM buckets ORDER BY partition_name, bucket";
const MERCHANTS_SQL = `SELECT mchid, partition_name AS ${"`partition`"}, create_policy AS createPolicy,
    former_partitions AS formerPartitions FROM merchants ORDER BY mchid`;
const TRIALS_SQL = `SELECT partition_name AS ${"`partition`"}, to_partition AS ${"`to`"}, permyriad,
    permyriad_max AS permyriadMax FROM partition_trials ORDER BY partition_name`;

/**
 * Reads the whole table in one consistent snapshot.
 * @param timeoutMs for each statement
 * @throws Error when a row breaks the table's schema
 */
export async function loadRoutingTable(connection: Connection, timeoutMs: number): Promise<RoutingTable> {
  const run = async (sql: string): Promise<Row[]> => {
    const [rows] = await connection.query<Row[]>({ sql, timeout: timeoutMs });
    if (Array.isArray(rows) && rows.length > ROWS_MAX) throw new Error(`more than ${ROWS_MAX} routing rows`);
    return rows;
  };
  // A snapshot exists only under REPEATABLE READ; the server's default is READ COMMITTED.
  await run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
  const version = await readRoutingVersion(connection, timeoutMs);
  const stripes = await run(STRIPES_SQL);
  const buckets = await run(BUCKETS_SQL);
  const merchants = await run(MERCHANTS_SQL);
  const trials = await run(TRIALS_SQL);
  await run("COMMIT");
  return routingTableSchema.parse({
    version,
    stripes: stripes.map((row) => ({ ...row, blocked: Number(row.blocked) !== 0, services: json(row.services) })),
    partitions: partitionsOf(buckets),
    merchants: merchants.map((row) => ({ ...row, formerPartitions: json(row.formerPartitions) ?? [] })),
    trials: trials.map((row) => ({ ...row })),
  });
}

function json(column: unknown): unknown {
  return typeof column === "string" ? (JSON.parse(column) as unknown) : column;
}

function partitionsOf(rows: readonly Row[]): { partition: string; buckets: (number | null)[] }[] {
  const partitions = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const partition = String(row.partition_name);
    const bucket = Number(row.bucket);
    let buckets = partitions.get(partition);
    if (buckets === undefined) {
      buckets = Array.from({ length: BUCKET_COUNT }, () => null);
      partitions.set(partition, buckets);
    }
    if (bucket < BUCKET_COUNT) buckets[bucket] = Number(row.stripe);
  }
  return [...partitions].map(([partition, buckets]) => ({ partition, buckets }));
}
