import { rm } from "node:fs/promises";
import type { ServerRole } from "../core/agent-wire.ts";
import type { ClusterContext } from "./context.ts";
import { writeFileAtomically } from "./folder.ts";

export interface ProcessInfo {
  readonly url: string;
  /** Null while it is being started again. */
  readonly pid: number | null;
}

export interface MysqlInfo {
  readonly name: string;
  /** `source` is open for writes; `replica` follows it; anything else is on its way to one of the two. */
  readonly role: "source" | "replica" | ServerRole;
  /** Own address; 127.0.0.1 leads to the same server. */
  readonly address: string;
  readonly port: number;
  readonly adminPort: number;
  readonly pid: number | null;
  readonly dataDir: string;
  readonly agentUrl: string;
}

/** The content of `cluster.json`. */
export interface ClusterInfo {
  readonly startedAt: string;
  readonly launcherPid: number;
  readonly proxies: readonly ProcessInfo[];
  readonly ops: ProcessInfo;
  /** Health checkers: `url/triples` shows the record of each triple and its recoveries. */
  readonly checkers: readonly ProcessInfo[];
  readonly control: { readonly host: string; readonly port: number; readonly pid: number | null };
  readonly agents: { readonly pid: number | null };
  readonly stripes: readonly {
    readonly stripe: number;
    readonly services: readonly ProcessInfo[];
    readonly haproxy: { readonly writerPort: number; readonly readerPort: number; readonly pid: number | null };
    readonly mysql: readonly MysqlInfo[];
  }[];
  /** An account that may read every database of the cluster. */
  readonly user: string;
  readonly password: string;
}

/** What the agents last said of a server. */
export interface SeenServer {
  readonly role: ServerRole;
  readonly pid: number | null;
}

/** Puts together what the cluster looks like now. */
export function clusterInfo(
  context: ClusterContext,
  startedAt: string,
  seen: (server: string) => SeenServer | undefined,
): ClusterInfo {
  const { plan, secrets, folder } = context;
  const instance = (name: string, url: string): ProcessInfo => ({ url, pid: context.pid(name) });
  return {
    startedAt,
    launcherPid: process.pid,
    proxies: plan.proxies.map(({ name, url }) => instance(name, url)),
    ops: instance(plan.ops.name, plan.ops.url),
    checkers: plan.checkers.map(({ name, url }) => instance(name, url)),
    control: { host: "127.0.0.1", port: plan.control.port, pid: context.pid("control") },
    agents: { pid: context.pid("agents") },
    stripes: plan.stripes.map((stripe) => ({
      stripe: stripe.stripe,
      services: stripe.services.map(({ name, url }) => instance(`service-${name}`, url)),
      haproxy: {
        writerPort: stripe.writerPort,
        readerPort: stripe.readerPort,
        pid: context.pid(stripe.haproxyName),
      },
      mysql: stripe.servers.map(({ name, address, port, adminPort, agentPort }) => ({
        name,
        role: roleWord(seen(name)?.role ?? "down"),
        address,
        port,
        adminPort,
        pid: seen(name)?.pid ?? null,
        dataDir: folder.path("mysql", name),
        agentUrl: `http://127.0.0.1:${agentPort}`,
      })),
    })),
    user: "viewer",
    password: secrets.passwords.viewer,
  };
}

function roleWord(role: ServerRole): MysqlInfo["role"] {
  if (role === "open") return "source";
  return role === "follower" ? "replica" : role;
}

/** Keeps `cluster.json` in step: written whole and only when something differs; the newest state always wins. */
export class ClusterFile {
  readonly path: string;
  readonly #read: () => ClusterInfo;
  #written = "";
  #work: Promise<void> = Promise.resolve();
  #open = false;

  constructor(path: string, read: () => ClusterInfo) {
    this.path = path;
    this.#read = read;
  }

  /** Begins to write. @throws Error when the file cannot be written */
  async open(): Promise<void> {
    this.#open = true;
    await this.#write();
  }

  /** Tells that something may have changed. */
  refresh(): void {
    // A failed write is tried again at the next change; the cluster itself does not depend on the file.
    this.#work = this.#work.then(() => this.#write()).catch(() => {});
  }

  async #write(): Promise<void> {
    if (!this.#open) return;
    const text = `${JSON.stringify(this.#read(), null, 2)}\n`;
    if (text === this.#written) return;
    await writeFileAtomically(this.path, text, 0o600);
    this.#written = text;
  }

  async remove(): Promise<void> {
    this.#open = false;
    await this.#work;
    await rm(this.path, { force: true });
  }
}
