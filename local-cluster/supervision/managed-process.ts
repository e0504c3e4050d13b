import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rename, stat } from "node:fs/promises";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import { childEnv } from "../../runtime/env.ts";
import { removePidFile, writePidFile } from "./pid-file.ts";

const READY_POLL_MS = 50;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/** A process that lived this long before it ended is started again at once. */
const STEADY_MS = 30_000;
const LOG_BYTES_MAX = 32 * 1024 * 1024;
const LOG_TAIL_CHARS = 2_000;

export interface ProcessSpec {
  /** Unique in the cluster; names the log and the pid file. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly logFile: string;
  readonly pidFile: string;
  readonly ready: () => Promise<boolean>;
  readonly readyTimeoutMs: number;
  /** How long SIGTERM may take before SIGKILL. */
  readonly stopTimeoutMs: number;
}

/**
 * One child process, in a process group of its own (a terminal's Ctrl-C reaches only the launcher, which stops
 * everything in order), started again whenever it ends without being asked to.
 */
export class ManagedProcess {
  readonly spec: ProcessSpec;
  readonly #onChange: () => void;
  #child: ChildProcess | undefined;
  #stopping = false;
  #wasReady = false;
  #backoffMs = BACKOFF_FIRST_MS;
  readonly #stopped = new AbortController();
  #restart: Promise<void> = Promise.resolve();

  /** @param onChange called whenever the pid has changed */
  constructor(spec: ProcessSpec, onChange: () => void) {
    this.spec = spec;
    this.#onChange = onChange;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    const child = this.#child;
    return child === undefined || hasEnded(child) ? undefined : child.pid;
  }

  /**
   * Starts it and waits until it is ready.
   * @throws Error with the end of its log when it ends or does not become ready in time
   */
  async start(): Promise<void> {
    await this.#spawn();
    const deadline = new Deadline(this.spec.readyTimeoutMs);
    while (!(await this.spec.ready())) {
      if (this.#stopping) throw new Error(`${this.spec.name} was stopped while it started`);
      if (this.pid === undefined) throw new Error(`${this.spec.name} ended while it started${await this.#logTail()}`);
      if (deadline.passed) {
        throw new Error(
          `${this.spec.name} was not ready within ${this.spec.readyTimeoutMs} ms${await this.#logTail()}`,
        );
      }
      await sleep(READY_POLL_MS, this.#stopped.signal);
    }
    this.#wasReady = true;
    if (this.pid === undefined) this.#restart = this.#startAgain(0);
  }

  /** SIGTERM, then SIGKILL; resolves when it is gone. Safe to call again. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopped.abort();
    await this.#restart;
    const child = this.#child;
    if (child !== undefined && !hasEnded(child)) {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      const force = setTimeout(() => killGroup(child), this.spec.stopTimeoutMs);
      await exited;
      clearTimeout(force);
    }
    await removePidFile(this.spec.pidFile);
  }

  async #spawn(): Promise<void> {
    const { argv, env, cwd, logFile, pidFile } = this.spec;
    await rotateLog(logFile);
    const log = await open(logFile, "a", 0o600);
    try {
      const [file = "", ...args] = argv;
      const child = spawn(file, args, { env: childEnv(env), cwd, detached: true, stdio: ["ignore", log.fd, log.fd] });
      this.#child = child;
      const startedMs = monotonicMs();
      child.once("exit", () => this.#ended(monotonicMs() - startedMs));
      await Promise.race([
        once(child, "spawn"),
        once(child, "error").then(([error]) => Promise.reject(error as Error)),
      ]);
      if (child.pid !== undefined) await writePidFile(pidFile, child.pid);
    } finally {
      await log.close();
    }
    this.#onChange();
  }

  #ended(livedMs: number): void {
    if (this.#stopping || !this.#wasReady) return;
    this.#onChange();
    this.#restart = this.#startAgain(livedMs);
  }

  async #startAgain(livedMs: number): Promise<void> {
    this.#backoffMs = livedMs > STEADY_MS ? BACKOFF_FIRST_MS : Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
    await sleep(this.#backoffMs, this.#stopped.signal);
    if (this.#stopping) return;
    try {
      await this.#spawn();
    } catch {
      if (!this.#stopping) this.#restart = this.#startAgain(0);
    }
  }

  async #logTail(): Promise<string> {
    const text = await readFile(this.spec.logFile, "utf8").catch(() => "");
    return text === "" ? "" : `; ${this.spec.logFile} ends with:\n${text.slice(-LOG_TAIL_CHARS)}`;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // gone already
  }
}

/** One earlier log is kept, so that logs stay bounded over many runs. */
async function rotateLog(path: string): Promise<void> {
  const size = await stat(path).then(
    (info) => info.size,
    () => 0,
  );
  if (size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
}
