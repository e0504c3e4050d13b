// Three stripes with their resolvers, the control database and two proxies, all on one MySQL server, each stripe behind
// a link that can misbehave.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Knex } from "knex";
import pino from "pino";
import { BUCKET_COUNT, bucketOf } from "../../../core/placement.ts";
import { kernelPort } from "../../../local-cluster/free-port.ts";
import { type ScratchServer, startScratchServer } from "../../../local-cluster/scratch-server.ts";
import { CONTROL_SCHEMA, migrateControl } from "../../../migrations/migrate.ts";
import type { BucketMover } from "../../../ops/bucket-move/move-bucket.ts";
import type { AfterStep } from "../../../ops/bucket-move/carry-bucket.ts";
import { openControl } from "../../../ops/db/open-control.ts";
import type { Limits } from "../../../proxy/config.ts";
import { Proxy } from "../../../proxy/proxy.ts";
import { configFrom } from "../../../stripe-service/config.ts";
import type { FaultRule } from "../../../stripe-service/faults.ts";
import { StripeService } from "../../../stripe-service/service.ts";
import { freshNo, OrdersApi } from "../../support/orders-api.ts";
import { seedStripe, type StripeDatabase } from "../../support/stripe-database.ts";
import { StripeClient, until } from "../../support/stripe-harness.ts";
import { LIMITS } from "../../proxy/support/stack.ts";
import { ChaosLink } from "./chaos-link.ts";

process.env.LOG_LEVEL ??= "silent";

export const STRIPES = [1, 2, 3] as const;
const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const DRAIN_MAX_MS = 20_000;
const MOVER_TIMEOUT_MS = 1_000;

/** Short, so that an outage of a second is a long one. */
const QUICK: Partial<Limits> = {
  requestDeadlineMs: 1_500,
  attemptTimeoutMs: 300,
  connectTimeoutMs: 150,
  maskAfterFailures: 2,
  maskMs: 200,
  readmitWaitMaxMs: 2_000,
  moveWaitMs: 100,
};

export interface ClusterOptions {
  /** Service instances of each stripe. */
  readonly instances?: number;
  readonly limits?: Partial<Limits>;
  /** Environment of every service. */
  readonly env?: Readonly<Record<string, string>>;
}

export class JumpCluster implements AsyncDisposable {
  readonly server: ScratchServer;
  readonly control: Knex;
  readonly databases = new Map<number, StripeDatabase>();
  readonly links = new Map<number, ChaosLink>();
  /** Straight to the first instance of each stripe. */
  readonly direct = new Map<number, StripeClient>();
  readonly proxies: OrdersApi[] = [];
  readonly #stop: AsyncDisposableStack;
  readonly #folder: string;
  readonly #options: ClusterOptions;
  readonly #services: string[] = [];

  private constructor(server: ScratchServer, stop: AsyncDisposableStack, folder: string, options: ClusterOptions) {
    this.server = server;
    this.#stop = stop;
    this.#folder = folder;
    this.#options = options;
    this.control = openControl({ ...server.target, database: CONTROL_SCHEMA });
  }

  static async start(options: ClusterOptions = {}): Promise<JumpCluster> {
    const stop = new AsyncDisposableStack();
    try {
      const server = stop.use(await startScratchServer(RELAXED));
      const folder = await mkdtemp(join(tmpdir(), "jump-test-"));
      stop.defer(() => rm(folder, { recursive: true, force: true }));
      await migrateControl(server.target);
      const cluster = new JumpCluster(server, stop, folder, options);
      stop.defer(() => cluster.control.destroy());
      for (const stripe of STRIPES) await cluster.#addStripe(stripe);
      await cluster.#fillTable();
      for (const name of ["a", "b"]) cluster.proxies.push(await cluster.#addProxy(name));
      return cluster;
    } catch (error) {
      await stop.disposeAsync();
      throw error;
    }
  }

  async #addStripe(stripe: number): Promise<void> {
    const homeBuckets = [...Array(BUCKET_COUNT).keys()].filter((bucket) => firstHome(bucket) === stripe);
    const database = await seedStripe(this.server, { stripe, homeBuckets });
    this.#stop.defer(() => database.close());
    this.databases.set(stripe, database);
    for (let instance = 0; instance < (this.#options.instances ?? 1); instance++) {
      const url = await this.#addService(stripe, `${stripe}-${instance}`, this.#options.env ?? {});
      this.#services.push(url);
      if (instance > 0) continue;
      const link = this.#stop.use(new ChaosLink(url));
      this.links.set(stripe, await link.open());
      const client = new StripeClient(url, 1);
      this.#stop.defer(() => client.stop());
      this.direct.set(stripe, client);
    }
  }

  async #addService(stripe: number, name: string, extra: Readonly<Record<string, string>>): Promise<string> {
    const port = await kernelPort();
    const { host, port: dbPort, user, password } = this.server.target;
    const config = configFrom({
      PORT: String(port),
      STRIPE: String(stripe),
      PLACE: "1",
      DB_WRITER_HOST: host,
      DB_WRITER_PORT: String(dbPort),
      DB_READER_HOST: host,
      DB_READER_PORT: String(dbPort),
      DB_USER: user,
      DB_PASSWORD: password,
      CONTROL_DB_HOST: host,
      CONTROL_DB_PORT: String(dbPort),
      CONTROL_DB_USER: user,
      CONTROL_DB_PASSWORD: password,
      ROUTING_CACHE_FILE: join(this.#folder, `service-${name}.json`),
      ROUTING_POLL_MS: "100",
      RESOLVER_POLL_MS: "100",
      PEER_TIMEOUT_MS: "400",
      PEER_RETRY_MS: "200",
      WRITE_POOL_MAX: "10",
      PRIMARY_READ_POOL_MAX: "5",
      REPLICA_READ_POOL_MAX: "2",
      RESOLVER_PARALLEL_MAX: "4",
      FAULT_POINTS: "1",
      ...extra,
    });
    const service = StripeService.create(config);
    this.#stop.use(service);
    await service.start();
    return `http://127.0.0.1:${port}`;
  }

  async #fillTable(): Promise<void> {
    for (const [stripe, { url }] of this.links) {
      const now = this.control.raw("UTC_TIMESTAMP(3)");
      await this.control("stripes").insert({
        stripe,
        version: 1,
        place: 1,
        triple_id: "t1",
        temperature: "hot",
        weight: 100,
        partition_name: "standard",
        blocked: 0,
        services: JSON.stringify([url]),
        create_time: now,
        update_time: now,
      });
    }
    const rows = [...Array(BUCKET_COUNT).keys()].map((bucket) => ({
      partition_name: "standard",
      bucket,
      stripe: firstHome(bucket),
    }));
    await this.control("buckets").insert(rows);
    await this.changed();
  }

  async #addProxy(name: string): Promise<OrdersApi> {
    const config = {
      host: "127.0.0.1",
      port: 0,
      controlDb: { ...this.server.target, database: CONTROL_SCHEMA },
      routingCacheFile: join(this.#folder, `proxy-${name}.json`),
      checkerUrls: [],
      limits: { ...LIMITS, ...QUICK, ...this.#options.limits },
    };
    const proxy = Proxy.create(config, pino({ level: "silent" }));
    this.#stop.use(proxy);
    await proxy.start();
    return new OrdersApi(`http://127.0.0.1:${proxy.port}`);
  }

  /** Raises the table's version after a change by hand. */
  async changed(): Promise<void> {
    await this.control("routing_meta").where({ id: 1 }).increment("version", 1);
  }

  /** Changes columns of a stripe's row, and waits until both proxies know. */
  async route(stripe: number, columns: Record<string, unknown>): Promise<void> {
    await this.control("stripes").where({ stripe }).update(columns);
    await this.changed();
    await this.routed();
  }

  /** Waits until both proxies have the newest table. */
  async routed(): Promise<void> {
    const row = (await this.control("routing_meta").first("version")) as { version: number };
    for (const api of this.proxies) {
      await until("the table is known", DRAIN_MAX_MS, async () => {
        const ready = await api.get<{ routing_version: number }>("/readyz");
        return ready.body.routing_version >= Number(row.version);
      });
    }
  }

  api(n: 0 | 1): OrdersApi {
    const api = this.proxies[n];
    if (api === undefined) throw new Error("there is no such proxy");
    return api;
  }

  link(stripe: number): ChaosLink {
    return this.links.get(stripe) as ChaosLink;
  }

  sql(stripe: number, statement: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return (this.databases.get(stripe) as StripeDatabase).sql(statement, values);
  }

  /** Arms a fault point in every service. */
  async arm(rule: Partial<FaultRule> & Pick<FaultRule, "point" | "action">): Promise<void> {
    for (const url of this.#services) await faults(url, "POST", rule);
  }

  async disarm(): Promise<void> {
    for (const url of this.#services) await faults(url, "DELETE");
  }

  mover(afterStep?: AfterStep): BucketMover {
    return {
      control: this.control,
      timeoutMs: MOVER_TIMEOUT_MS,
      actor: "test",
      ...(afterStep === undefined ? {} : { afterStep }),
    };
  }

  async homeOf(bucket: number): Promise<number> {
    const row = (await this.control("buckets").where({ partition_name: "standard", bucket }).first("stripe")) as {
      stripe: number;
    };
    return row.stripe;
  }

  /** Waits until no handoff is open anywhere. */
  async drained(): Promise<void> {
    const open = "SELECT COUNT(*) AS n FROM handoffs WHERE state <> 'DONE'";
    await until("every handoff is DONE", DRAIN_MAX_MS, async () => {
      const counts = await Promise.all(STRIPES.map(async (stripe) => (await this.sql(stripe, open))[0]?.n));
      return counts.every((n) => n === 0);
    });
  }

  /** A merchant number whose bucket's home is the stripe now, by the map of the start. */
  numberAt(stripe: number, mchid = "test-merchant"): string {
    for (;;) {
      const outTradeNo = freshNo();
      if (firstHome(bucketOf({ mchid, outTradeNo })) === stripe) return outTradeNo;
    }
  }

  /** A further instance of a stripe, not in the table. @returns its URL */
  addInstance(stripe: number, env: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#addService(stripe, freshNo("extra"), env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop.disposeAsync();
  }
}

export function firstHome(bucket: number): number {
  return (bucket % STRIPES.length) + 1;
}

async function faults(url: string, method: "POST" | "DELETE", rule?: object): Promise<void> {
  const answer = await fetch(`${url}/internal/v1/faults`, {
    method,
    headers: { "stripe-place": "1", "content-type": "application/json" },
    ...(rule === undefined ? {} : { body: JSON.stringify(rule) }),
  });
  if (!answer.ok) throw new Error(`fault point: ${answer.status} ${await answer.text()}`);
}
