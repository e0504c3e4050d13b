// Three real stripes for tests of the proxy: their databases and the control database on one scratch MySQL server, a
// real service process of each, and a link in front of every service that can misbehave.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";
import pino from "pino";
import { BUCKET_COUNT, bucketOf } from "../../../core/placement.ts";
import { kernelPort } from "../../../local-cluster/free-port.ts";
import { type ScratchServer, startScratchServer } from "../../../local-cluster/scratch-server.ts";
import { CONTROL_SCHEMA, migrateControl } from "../../../migrations/migrate.ts";
import type { Limits, ProxyConfig } from "../../../proxy/config.ts";
import { Proxy } from "../../../proxy/proxy.ts";
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { connect, type MysqlTarget } from "../../../runtime/mysql.ts";
import { freshNo, OrdersApi } from "../../support/orders-api.ts";
import { seedStripe, type StripeDatabase } from "../../support/stripe-database.ts";
import { Link } from "./link.ts";

const SERVICE = fileURLToPath(new URL("../../../stripe-service/main.ts", import.meta.url));
/** Nothing here is about crashes of the server, and every test file makes four schemas. */
const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const READY_MAX_MS = 20_000;
const POLL_MS = 20;
export const STRIPES = [1, 2, 3] as const;

export const LIMITS: Limits = {
  requestDeadlineMs: 3_000,
  attemptTimeoutMs: 1_000,
  connectTimeoutMs: 400,
  jumpsMax: 3,
  moveWaitMs: 300,
  requestArrivalMs: 10_000,
  bodyMaxBytes: 64 * 1024,
  requestsInFlightMax: 1_000,
  stripeInFlightMax: 64,
  stripeInFlightMin: 24,
  sequenceBlockSize: 100,
  maskAfterFailures: 3,
  maskMs: 300,
  instanceAvoidMs: 100,
  // These stripes settle no jumped orders, so nothing would ever end the wait.
  readmitWaitMaxMs: 0,
  routingPollMs: 50,
  controlTimeoutMs: 2_000,
  slowRequestMs: 1_000,
  verdictPollMs: 100,
  verdictTimeoutMs: 400,
  verdictKeepMs: 2_000,
};

export interface Stack extends AsyncDisposable {
  readonly server: ScratchServer;
  readonly control: MysqlTarget;
  readonly databases: ReadonlyMap<number, StripeDatabase>;
  /** The link in front of the first service of a stripe. */
  link(stripe: number): Link;
  /** A proxy of this process; ends with the stack. */
  proxy(options?: ProxyOptions): Promise<RunningProxy>;
  /** Runs a statement on the control database. */
  controlSql(statement: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Changes columns of a stripe's row and raises the table's version. @returns the new version */
  route(stripe: number, columns: Record<string, unknown>): Promise<number>;
  /** Every link behaves and no stripe is masked any more. */
  heal(): Promise<void>;
}

export interface ProxyOptions {
  readonly limits?: Partial<Limits>;
  readonly cacheFile?: string;
  readonly control?: MysqlTarget;
  readonly checkerUrls?: readonly string[];
}

export interface RunningProxy {
  readonly api: OrdersApi;
  readonly port: number;
  readonly cacheFile: string;
  /** Waits until the proxy's table has this version at least. */
  routed(version: number): Promise<void>;
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** An out_trade_no of "test-merchant" whose bucket's home is the given stripe. */
export function numberAt(stripe: number, mchid?: string): string {
  for (;;) {
    const outTradeNo = freshNo();
    if (homeOf(outTradeNo, mchid) === stripe) return outTradeNo;
  }
}

export function homeOf(outTradeNo: string, mchid = "test-merchant"): number {
  return (bucketOf({ mchid, outTradeNo }) % STRIPES.length) + 1;
}

export function stripeIn(transactionId: string): number {
  return Number(transactionId.slice(2, 6));
}

/** A stack for the tests of a file, healed after each. */
export function withStack(started: (stack: Stack) => void): void {
  let stack: Stack | null = null;
  before(async () => {
    stack = await startStack();
    started(stack);
  });
  after(() => stack?.[Symbol.asyncDispose]());
  afterEach(() => stack?.heal());
}

export async function startStack(): Promise<Stack> {
  const stop = new AsyncDisposableStack();
  try {
    return await build(stop);
  } catch (error) {
    await stop.disposeAsync();
    throw error;
  }
}

async function build(stop: AsyncDisposableStack): Promise<Stack> {
  const server = stop.use(await startScratchServer(RELAXED));
  const folder = await mkdtemp(join(tmpdir(), "proxy-test-"));
  stop.defer(() => rm(folder, { recursive: true, force: true }));
  await migrateControl(server.target);
  const control = { ...server.target, database: CONTROL_SCHEMA };
  const connection = await connect(control, READY_MAX_MS);
  stop.defer(() => connection.end());
  const controlSql = async (sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> => {
    const [rows] = await connection.query(sql, [...values]);
    return rows as Record<string, unknown>[];
  };
  const homeBuckets = (stripe: number): number[] =>
    [...Array(BUCKET_COUNT).keys()].filter((b) => (b % STRIPES.length) + 1 === stripe);
  const setUp = await Promise.all(
    STRIPES.map(async (stripe) => {
      const database = await seedStripe(server, { stripe, homeBuckets: homeBuckets(stripe) });
      const link = stop.use(new Link(await startService(stop, server.target, stripe)));
      return [stripe, database, await link.open()] as const;
    }),
  );
  const databases = new Map<number, StripeDatabase>(setUp.map(([stripe, database]) => [stripe, database]));
  const links = new Map<number, Link>(setUp.map(([stripe, , link]) => [stripe, link]));
  await fillRoutingTable(controlSql, links);
  const route = (stripe: number, columns: Record<string, unknown>): Promise<number> =>
    setRow(controlSql, stripe, columns);
  const link = (stripe: number): Link => links.get(stripe) as Link;
  const proxies = { stop, control, folder };
  return {
    server,
    control,
    databases,
    link,
    controlSql,
    route,
    proxy: (options = {}) => startProxy(proxies, options),
    heal: async () => {
      for (const one of links.values()) await one.heal();
    },
    [Symbol.asyncDispose]: () => stop.disposeAsync(),
  };
}

async function startService(stop: AsyncDisposableStack, target: MysqlTarget, stripe: number): Promise<string> {
  const port = await kernelPort();
  const env = {
    ...process.env,
    PORT: String(port),
    LOG_LEVEL: "silent",
    STRIPE: String(stripe),
    PLACE: "1",
    DB_WRITER_HOST: target.host,
    DB_WRITER_PORT: String(target.port),
    DB_READER_HOST: target.host,
    DB_READER_PORT: String(target.port),
    DB_USER: target.user,
    DB_PASSWORD: target.password,
  };
  const child = spawn(process.execPath, [SERVICE], { env, stdio: ["ignore", "ignore", "inherit"] });
  const killed = (): void => void child.kill("SIGKILL");
  process.once("exit", killed);
  stop.defer(async () => {
    process.off("exit", killed);
    await end(child);
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/readyz`)).ok, `service of stripe ${stripe}`);
  return url;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

async function fillRoutingTable(sql: Stack["controlSql"], links: ReadonlyMap<number, Link>): Promise<void> {
  for (const [stripe, { url }] of links) {
    await sql(
      `INSERT INTO stripes (stripe, version, place, triple_id, temperature, weight, partition_name, blocked, services,
         create_time, update_time) VALUES (?, 1, 1, 't1', 'hot', 100, 'standard', 0, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))`,
      [stripe, JSON.stringify([url])],
    );
  }
  const rows = [...Array(BUCKET_COUNT).keys()].map((b) => ["standard", b, (b % STRIPES.length) + 1]);
  await sql("INSERT INTO buckets (partition_name, bucket, stripe) VALUES ?", [rows]);
  await sql("UPDATE routing_meta SET version = version + 1");
}

async function setRow(sql: Stack["controlSql"], stripe: number, columns: Record<string, unknown>): Promise<number> {
  await sql("UPDATE stripes SET ? WHERE stripe = ?", [columns, stripe]);
  await sql("UPDATE routing_meta SET version = version + 1");
  const [row] = await sql("SELECT version FROM routing_meta");
  return Number(row?.version);
}

interface ProxyPlace {
  readonly stop: AsyncDisposableStack;
  readonly control: MysqlTarget;
  readonly folder: string;
}

async function startProxy(place: ProxyPlace, options: ProxyOptions): Promise<RunningProxy> {
  const config: ProxyConfig = {
    host: "127.0.0.1",
    port: 0,
    controlDb: options.control ?? place.control,
    routingCacheFile: options.cacheFile ?? join(place.folder, `${freshNo("cache")}.json`),
    checkerUrls: options.checkerUrls ?? [],
    limits: { ...LIMITS, ...options.limits },
  };
  const proxy = Proxy.create(config, pino({ level: process.env.LOG_LEVEL ?? "silent" }));
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    await proxy[Symbol.asyncDispose]();
  };
  place.stop.defer(stop);
  await proxy.start();
  const url = `http://127.0.0.1:${proxy.port}`;
  const version = async (): Promise<number> =>
    Number(((await (await fetch(`${url}/readyz`)).json()) as { routing_version: number | null }).routing_version);
  return {
    api: new OrdersApi(url),
    port: proxy.port,
    cacheFile: config.routingCacheFile,
    routed: (wanted) => until(async () => (await version()) >= wanted, `routing version ${wanted}`),
    metric: async (name) => sumOf(await (await fetch(`${url}/metrics`)).text(), name),
    stop,
  };
}

/** Sum of the series whose text begins with `name`, as in `proxy_jumps_total{from="1"`. */
function sumOf(text: string, name: string): number {
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** Waits for a condition; an error counts as "not yet". */
export async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = new Deadline(READY_MAX_MS);
  for (;;) {
    if (await condition().catch(() => false)) return;
    if (deadline.passed) throw new Error(`not in time: ${what}`);
    await sleep(POLL_MS);
  }
}
