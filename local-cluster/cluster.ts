import { wallNowIso } from "../runtime/clock.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import type { PeerPort } from "./agents-config.ts";
import { ClusterFile, type ClusterInfo, clusterInfo } from "./cluster-info.ts";
import { ClusterContext } from "./context.ts";
import { ClusterFolder } from "./folder.ts";
import { findOrInstallHaproxy } from "./install/haproxy.ts";
import { findOrInstallMysql } from "./install/mysql.ts";
import { ProcessLock } from "./install/process-lock.ts";
import type { Work } from "./install/work.ts";
import { stripesOf } from "./layout.ts";
import { type ClusterSize, type KnownPorts, planCluster, portRequests, type ServerPlan, SIZE_MAX } from "./plan.ts";
import { openPortBook, type PortBook } from "./ports.ts";
import { type AccountName, loadOrMakeSecrets } from "./secrets.ts";
import { startServiceHalf, stopServiceHalf } from "./service-half.ts";
import { StorageHalf } from "./storage-half.ts";
import { endLeftovers } from "./supervision/leftovers.ts";
import { endsWithin } from "./within.ts";

/** The start was given up because the cluster is being stopped. */
export class ClusterStopped extends Error {
  override readonly name = "ClusterStopped";

  constructor() {
    super("stopped while starting");
  }
}

/** One leads, one stands by. */
const CHECKERS_DEFAULT = 2;

/** How long a start that was interrupted may take to notice it. */
const GIVE_UP_MAX_MS = 30_000;

export interface ClusterOptions extends Partial<ClusterSize> {
  /** Default `.local-cluster` in the working directory; for an ephemeral cluster the system's temporary files. */
  readonly dir?: string | undefined;
  /** New empty data, removed at the end. */
  readonly ephemeral?: boolean;
  /** How many of the last stripes are given no buckets: to be put into another partition, or to be moved to. */
  readonly spares?: number;
  /** Ports that people know; without them free ones are chosen. */
  readonly ports?: KnownPorts;
  /** `storage` starts the databases alone. Default `all`. */
  readonly parts?: "all" | "storage";
  /** Sets up what shall stand between the servers of a triple, before they start: for measuring with slow links. */
  readonly between?: (servers: readonly ServerPlan[]) => Promise<PeerPort>;
  /** Further settings of the stripe services, for measuring; see `.env.example`. */
  readonly serviceSettings?: Readonly<Record<string, string>>;
  /** Is told of every step, in words for people. */
  readonly tell?: Work["tell"];
  /** Aborting it while the cluster starts gives the start up; everything that was started is stopped. */
  readonly signal?: AbortSignal;
}

/**
 * Starts a whole cluster of real processes and resolves when it serves. Dispose stops everything in order.
 * Needs about a second of work for each stripe; installs MySQL and HAProxy when they are missing.
 * @throws Error in words for people; nothing is left running then
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = await Cluster.create(options);
  const stopEarly = (): void => void cluster[Symbol.asyncDispose]().catch(() => {});
  options.signal?.addEventListener("abort", stopEarly, { once: true });
  try {
    options.signal?.throwIfAborted();
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", stopEarly);
  }
}

export class Cluster implements AsyncDisposable {
  readonly #folder: ClusterFolder;
  readonly #options: ClusterOptions;
  readonly #stop = new AbortController();
  readonly #work: Work;
  readonly #startedAt = wallNowIso();
  /** Given back at the very end, last first. */
  readonly #resources = new AsyncDisposableStack();
  /** The folder is ours; before that nothing in it may be touched. */
  #locked = false;
  #context: ClusterContext | undefined;
  #storage: StorageHalf | undefined;
  #file: ClusterFile | undefined;
  #starting: Promise<void> | undefined;
  #disposed: Promise<void> | undefined;

  private constructor(folder: ClusterFolder, options: ClusterOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#work = { tell: options.tell ?? (() => {}), signal: this.#stop.signal };
  }

  static async create(options: ClusterOptions): Promise<Cluster> {
    checkSize(options);
    const folder = await ClusterFolder.open(options.dir, options.ephemeral === true).catch((error: Error) => {
      throw new Error(`the folder of the cluster cannot be used: ${error.message}`, { cause: error });
    });
    return new Cluster(folder, options);
  }

  get dir(): string {
    return this.#folder.dir;
  }

  /** Where `cluster.json` is while the cluster runs. */
  get file(): string {
    return this.#folder.path("cluster.json");
  }

  /** What `cluster.json` says. @throws Error before the ports are chosen */
  info(): ClusterInfo {
    const seen = (server: string) => this.#storage?.triples.flatMap((triple) => triple.seen(server) ?? [])[0];
    return clusterInfo(this.#ready(), this.#startedAt, seen);
  }

  /** An account of the cluster on one of its MySQL ports, without a database. */
  target(account: AccountName, port: number): MysqlTarget {
    return { host: "127.0.0.1", port, user: account, password: this.#ready().secrets.passwords[account] };
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    await this.#lockFolder();
    const left = await endLeftovers(this.#folder);
    if (left > 0) this.#work.tell(`ended ${left} processes that an earlier run had left`);
    this.#stop.signal.throwIfAborted();
    const haproxy = await findOrInstallHaproxy(this.#work);
    this.#stop.signal.throwIfAborted();
    const mysql = await findOrInstallMysql(this.#work);
    this.#stop.signal.throwIfAborted();
    this.#work.tell(`using MySQL ${mysql.version} (${mysql.foundBy}) and ${haproxy}`);
    const context = await this.#planned(mysql, haproxy);
    this.#context = context;
    context.serviceSettings = this.#options.serviceSettings ?? {};
    context.peerPort = await this.#options.between?.(context.plan.stripes.flatMap(({ servers }) => servers));
    this.#file = new ClusterFile(this.file, () => this.info());
    context.onChange = () => this.#file?.refresh();
    this.#storage = new StorageHalf(context);
    this.#stop.signal.throwIfAborted();
    await this.#storage.start();
    if (this.#options.parts !== "storage") await this.#startServices(context);
    this.#stop.signal.throwIfAborted();
    await this.#file.open();
  }

  #startServices(context: ClusterContext): Promise<void> {
    return startServiceHalf(context, (n) => this.#storage?.sourcePort(n) ?? 0, this.#options.spares ?? 0);
  }

  async #lockFolder(): Promise<void> {
    const lock = await ProcessLock.tryAcquire(`cluster ${this.dir}`);
    if (lock === undefined) {
      throw new Error(`a cluster is running in ${this.dir} already (see ${this.file}); stop it or use another --dir`);
    }
    this.#resources.use(lock);
    this.#locked = true;
  }

  async #planned(mysql: ClusterContext["mysql"], haproxy: string): Promise<ClusterContext> {
    const size: ClusterSize = {
      stripes: await stripesOf(this.#folder, this.#options.stripes),
      proxies: this.#options.proxies ?? 1,
      services: this.#options.services ?? 1,
      checkers: this.#options.checkers ?? CHECKERS_DEFAULT,
    };
    const secrets = await loadOrMakeSecrets(this.#folder);
    const book: PortBook = await openPortBook(this.#folder, portRequests(size, this.#options.ports ?? {}));
    this.#resources.use(book);
    for (const { name, wanted, got } of book.moves) this.#work.tell(`port ${wanted} is taken: ${name} uses ${got}`);
    const plan = planCluster(size, book, secrets);
    return new ClusterContext({ folder: this.#folder, mysql, haproxy, plan, secrets, work: this.#work });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    this.#stop.abort(new ClusterStopped());
    const failures: unknown[] = [];
    const attempt = (work: Promise<unknown> | undefined): Promise<void> =>
      Promise.resolve(work).then(
        () => {},
        (error: unknown) => void failures.push(error),
      );
    await attempt(this.#file?.remove());
    if (this.#context !== undefined) await attempt(stopServiceHalf(this.#context));
    await attempt(this.#storage?.stop());
    // A start in flight notices soon that it is not wanted any more; whatever it had begun is ended by the sweep.
    await endsWithin(GIVE_UP_MAX_MS, this.#starting);
    if (this.#locked) {
      await attempt(endLeftovers(this.#folder));
      await attempt(this.#folder.close());
    }
    await attempt(this.#resources.disposeAsync());
    if (failures.length > 0) throw new AggregateError(failures, "the cluster did not stop cleanly");
  }

  #ready(): ClusterContext {
    if (this.#context === undefined) throw new Error("the cluster is not that far yet");
    return this.#context;
  }
}

function checkSize(options: ClusterOptions): void {
  for (const name of ["stripes", "proxies", "services", "checkers"] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= SIZE_MAX[name])) {
      throw new Error(`${name} must be 1 … ${SIZE_MAX[name]}, not ${value}`);
    }
  }
}
