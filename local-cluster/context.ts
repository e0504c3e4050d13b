import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import type { PeerPort } from "./agents-config.ts";
import type { ClusterFolder } from "./folder.ts";
import { cacheFolder, type MysqlInstall } from "./install/mysql-install.ts";
import { runCommand } from "./install/run-command.ts";
import type { Work } from "./install/work.ts";
import type { ClusterPlan } from "./plan.ts";
import type { ClusterSecrets } from "./secrets.ts";
import type { SettingsOf } from "./settings.ts";
import { ManagedProcess, type ProcessSpec } from "./supervision/managed-process.ts";

const PROBE_TIMEOUT_MS = 1_000;
const READY_TIMEOUT_MS = 30_000;
/** Longer than a process's own bound on its drain. */
const STOP_TIMEOUT_MS = 12_000;

const COMPILE_TIMEOUT_MS = 30_000;

const projectDir = fileURLToPath(new URL("..", import.meta.url));

/** What every part of a cluster needs to start its processes. */
export class ClusterContext {
  readonly folder: ClusterFolder;
  readonly mysql: MysqlInstall;
  readonly haproxy: string;
  readonly plan: ClusterPlan;
  readonly secrets: ClusterSecrets;
  readonly work: Work;
  /** What stands between the servers of a triple, if anything does. */
  peerPort: PeerPort | undefined;
  /** What the stripe services are told beside the usual. */
  serviceSettings: Readonly<Record<string, string>> = {};
  /** Called whenever a pid or a role has changed. */
  onChange: () => void = () => {};
  readonly #processes = new Map<string, ManagedProcess>();

  constructor(parts: Pick<ClusterContext, "folder" | "mysql" | "haproxy" | "plan" | "secrets" | "work">) {
    this.folder = parts.folder;
    this.mysql = parts.mysql;
    this.haproxy = parts.haproxy;
    this.plan = parts.plan;
    this.secrets = parts.secrets;
    this.work = parts.work;
  }

  /**
   * Starts a process of the cluster and waits until it is ready.
   * @throws Error with the end of its log, or when the cluster is being stopped
   */
  async launch(
    name: string,
    argv: readonly string[],
    env: Record<string, string>,
    ready: () => Promise<boolean>,
    limits: Partial<Pick<ProcessSpec, "readyTimeoutMs" | "stopTimeoutMs">> = {},
  ): Promise<ManagedProcess> {
    this.throwIfStopping();
    const spec: ProcessSpec = {
      name,
      argv,
      env,
      cwd: projectDir,
      logFile: this.folder.log(name),
      pidFile: this.folder.pidFile(name),
      ready,
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
      ...limits,
    };
    const managed = new ManagedProcess(spec, () => this.onChange());
    this.#processes.set(name, managed);
    await managed.start();
    return managed;
  }

  /** Starts one of the project's own entries, as `proxy/main.ts`, on the Node.js that runs this. */
  launchEntry(
    name: string,
    entry: string,
    env: Record<string, string>,
    ready: () => Promise<boolean>,
    nodeFlags: readonly string[] = [],
  ): Promise<ManagedProcess> {
    return this.launch(name, [process.execPath, ...nodeFlags, entry], { ...compileCache(), ...env }, ready);
  }

  /** What the processes are told, in the words of this cluster. */
  get settings(): SettingsOf {
    const { plan, secrets, folder } = this;
    return {
      plan,
      secret: (variable, account) => ({ [variable]: secrets.passwords[account] }),
      cacheFile: (process_) => folder.path("cache", `${process_}-routing-table.json`),
    };
  }

  /**
   * Leaves the compiled code of entries where processes with the same flags find it: each stops at once for want of its
   * settings, compiled by then. A process that compiles TypeScript itself keeps the compiler, some 12 MB, for as long as
   * it lives; that this failed costs that memory and nothing else.
   */
  async compileAhead(entries: readonly string[], nodeFlags: readonly string[]): Promise<void> {
    const { signal } = this.work;
    const env = { ...compileCache(), AGENTS_CONFIG: "", TRIPLES_CONFIG: "" };
    const options = { timeoutMs: COMPILE_TIMEOUT_MS, cwd: projectDir, env, signal };
    await Promise.allSettled(entries.map((entry) => runCommand([process.execPath, ...nodeFlags, entry], options)));
  }

  pid(name: string): number | null {
    return this.#processes.get(name)?.pid ?? null;
  }

  /** Stops the processes named, together. Those that were never started are passed over. */
  async stop(names: readonly string[]): Promise<void> {
    await Promise.all(names.map(async (name) => this.#processes.get(name)?.stop()));
  }

  /** @throws Error when the cluster is being stopped: from then on nothing is started any more */
  throwIfStopping(): void {
    this.work.signal.throwIfAborted();
  }
}

/** Compiled code is kept between starts: half a second of processor time less for each process. */
function compileCache(): Record<string, string> {
  return { NODE_COMPILE_CACHE: join(cacheFolder(), "node") };
}

/** Whether a GET is answered with 200 in time. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
