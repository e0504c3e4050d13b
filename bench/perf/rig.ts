// The cluster that is measured, the load, and what everything is compared with on the same triple.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { schemaName } from "../../core/ids.ts";
import type { Cluster, ClusterOptions } from "../../local-cluster/cluster.ts";
import { startBenchCluster } from "../cluster.ts";
import type { MysqlInfo } from "../../local-cluster/cluster-info.ts";
import { CONTROL_SCHEMA, migrateStripe } from "../../migrations/migrate.ts";
import { monotonicMs } from "../../runtime/clock.ts";
import { connect, type MysqlTarget } from "../../runtime/mysql.ts";
import { loadRoutingTable } from "../../runtime/routing/db/load-routing-table.ts";
import type { PointSelectOrder } from "./db/point-select.ts";
import { executedSet, untilExecuted } from "./db/triple.ts";
import { Load, type LoadOrder, type LoadResult } from "./load.ts";
import { CpuSnapshot, rssMb } from "./processes.ts";

/** Stripes whose schemas hold the baselines' tables; no service knows them. */
const RAW = 9001;
const PLAIN = 9002;
const PLACE = 1;
const CONNECT_TIMEOUT_MS = 5_000;

export interface CpuUse {
  /** Processor microseconds by process, of the whole interval. */
  readonly byProcess: Readonly<Record<string, number>>;
  /** Cores that programs other than ours used meanwhile. */
  readonly otherCores: number;
}

export class Rig implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly load = new Load();
  readonly #children: ChildProcess[] = [];
  #plainPort = 0;
  /** The most that others used in any interval, cores. */
  otherCoresMax = 0;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async start(options: ClusterOptions): Promise<Rig> {
    const cluster = await startBenchCluster({ services: 1, proxies: 1, ...options });
    const rig = new Rig(cluster);
    try {
      const source = { ...cluster.target("migrate", rig.#sourcePort()) };
      await migrateStripe(source, RAW, PLACE);
      await migrateStripe(source, PLAIN, PLACE);
      return rig;
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
  }

  get urls(): string[] {
    return this.cluster.info().proxies.map(({ url }) => url);
  }

  /** The servers of stripe 1, as they are now. */
  get triple(): readonly MysqlInfo[] {
    return this.cluster.info().stripes[0]?.mysql ?? [];
  }

  /** The raw baselines' tables, at the source itself. */
  get raw(): MysqlTarget {
    return { ...this.cluster.target("app", this.#sourcePort()), database: schemaName(RAW, PLACE) };
  }

  /** The system's own tables of stripe 1, at the source itself. */
  get own(): MysqlTarget {
    return { ...this.cluster.target("app", this.#sourcePort()), database: schemaName(1, PLACE) };
  }

  run(order: Omit<LoadOrder, "urls" | "ids"> & { readonly ids?: readonly string[] }): Promise<LoadResult> {
    return this.load.run({ urls: this.urls, ids: [], ...order });
  }

  /** The home stripe of each bucket. */
  async homes(): Promise<number[]> {
    const { port } = this.cluster.info().control;
    const target = { ...this.cluster.target("control", port), database: CONTROL_SCHEMA };
    const connection = await connect(target, CONNECT_TIMEOUT_MS);
    try {
      const { partitions } = await loadRoutingTable(connection, CONNECT_TIMEOUT_MS);
      return partitions.flatMap(({ buckets }) => buckets.map((stripe) => stripe ?? 0));
    } finally {
      connection.destroy();
    }
  }

  /** The plain service, started at the first call. */
  async plainUrl(): Promise<string> {
    if (this.#plainPort === 0) {
      const child = this.#fork("plain-server.ts");
      // Through HAProxy, as any service that must survive a failover; the best of several sizes of its pool.
      const port = this.cluster.info().stripes[0]?.haproxy.writerPort ?? 0;
      const target = { ...this.cluster.target("app", port), database: schemaName(PLAIN, PLACE) };
      child.send({ target, pool: 32 });
      const [{ port: listening }] = (await once(child, "message")) as [{ port: number }];
      this.#plainPort = listening;
    }
    return `http://127.0.0.1:${this.#plainPort}`;
  }

  /** Reads by primary key with the driver alone. @returns a second */
  async pointSelects(order: Omit<PointSelectOrder, "target">): Promise<number> {
    const child = this.#fork("db/point-select.ts");
    child.send({ ...order, target: this.own });
    const [answer] = (await once(child, "message")) as [{ perSecond?: number; error?: string }];
    child.disconnect();
    if (answer.perSecond === undefined) throw new Error(`point selects failed: ${answer.error}`);
    return answer.perSecond;
  }

  /** Runs something and says what it cost. */
  async watched<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly cpu: CpuUse }> {
    const named = this.#named();
    const before = new CpuSnapshot();
    const startMs = monotonicMs();
    const value = await work();
    const seconds = (monotonicMs() - startMs) / 1000;
    const after = new CpuSnapshot();
    const ours = new Set([process.pid, ...Object.values(named).flat()]);
    const otherCores = after.others(before, ours) / seconds;
    this.otherCoresMax = Math.max(this.otherCoresMax, otherCores);
    const byProcess = Object.fromEntries(
      Object.entries(named).map(([name, pids]) => [
        name,
        pids.reduce((sum, pid) => sum + after.since(before, pid), 0) * 1e6,
      ]),
    );
    return { value, cpu: { byProcess, otherCores } };
  }

  /** Milliseconds until the replicas of stripe 1 have executed what its source has executed now. */
  async catchUpMs(): Promise<number> {
    const [source, ...replicas] = [...this.triple].sort((a) => (a.role === "source" ? -1 : 1));
    const startMs = monotonicMs();
    const set = await executedSet(this.cluster.target("viewer", source?.port ?? 0));
    await Promise.all(replicas.map(({ port }) => untilExecuted(this.cluster.target("viewer", port), set)));
    return monotonicMs() - startMs;
  }

  /** Resident memory of the three servers of stripe 1. */
  tripleRssMb(): number {
    return this.triple.reduce((sum, { pid }) => sum + rssMb(pid ?? 0), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) if (child.connected) child.disconnect();
    await this.load[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }

  #sourcePort(): number {
    const source = this.triple.find(({ role }) => role === "source");
    if (source === undefined) throw new Error("stripe 1 has no source");
    return source.port;
  }

  #fork(file: string): ChildProcess {
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), { serialization: "advanced" });
    this.#children.push(child);
    return child;
  }

  /** Pids of the cluster's processes by what they are. */
  #named(): Record<string, number[]> {
    const info = this.cluster.info();
    const pids = (some: readonly { readonly pid: number | null }[]): number[] => some.flatMap(({ pid }) => pid ?? []);
    const mysql = info.stripes.flatMap((stripe) => stripe.mysql);
    return {
      proxy: pids(info.proxies),
      "stripe-service": pids(info.stripes.flatMap((stripe) => stripe.services)),
      haproxy: pids(info.stripes.map((stripe) => stripe.haproxy)),
      source: pids(mysql.filter(({ role }) => role === "source")),
      replicas: pids(mysql.filter(({ role }) => role !== "source")),
      agents: pids([info.agents]),
      "checkers, ops, control": pids([...info.checkers, info.ops, info.control]),
      load: [this.load.pid],
    };
  }
}
