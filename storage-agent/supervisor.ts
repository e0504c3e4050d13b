// Keeps one mysqld running. mysqld outlives the agent (own process group, pid file) and is found again; when it dies it
// is started again, always closed, because roles come from its option defaults alone.
import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { AgentServerConfig } from "./config.ts";
import { fillDataDirectory, wantsPristineData } from "./data-directory.ts";
import type { Logger } from "../runtime/logger.ts";
import { Deadline, monotonicMs, sleep } from "../runtime/clock.ts";
import { findByArguments, identityOf, isAlive, readPidFile, writePidFile } from "./process-identity.ts";
import type { ProcessIdentity } from "./process-identity.ts";

const BACKOFF_MS = [0, 250, 500, 1_000, 2_000, 5_000] as const;
/** A mysqld that lived longer has started well: the next restart is immediate again. */
const STABLE_MS = 10_000;
const POLL_MS = 25;
/** How often a living mysqld is looked after; nine of them must not cost a laptop anything. */
const ALIVE_POLL_MS = 100;
const KILLED_WAIT_MS = 10_000;

type Supervise = NonNullable<AgentServerConfig["supervise"]>;

export class Supervisor {
  readonly #supervise: Supervise;
  readonly #dataDir: string;
  readonly #logger: Logger;
  readonly #onReplaced: () => Promise<unknown>;
  readonly #stop = new AbortController();
  #process: ProcessIdentity | null = null;
  #held = false;
  #loop: Promise<void> = Promise.resolve();
  /** Never rejects. */
  #starting: Promise<void> = Promise.resolve();
  #starts = 0;
  #failures = 0;

  /** @param onReplaced awaited when other data has been put in place, before mysqld starts on it */
  constructor(supervise: Supervise, dataDir: string, logger: Logger, onReplaced: () => Promise<unknown>) {
    this.#onReplaced = onReplaced;
    this.#supervise = supervise;
    this.#dataDir = dataDir;
    this.#logger = logger;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get starts(): number {
    return this.#starts;
  }

  /** Finds the living mysqld or starts one; then keeps it running in the background. */
  async start(): Promise<void> {
    this.#process = await this.#find();
    if (this.#process) this.#logger.info({ mysqldPid: this.#process.pid }, "found the running mysqld");
    else await this.#spawn();
    this.#loop = this.#keepRunning();
  }

  /** Ends supervision; mysqld lives on. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /**
   * SIGKILL, and wait for the exit; the background loop then starts mysqld again, closed.
   * @throws Error when the process does not go away
   */
  async kill(): Promise<void> {
    const process_ = this.#process;
    if (process_ === null || !isAlive(process_)) return;
    signal(process_.pid, "SIGKILL");
    if (!(await this.#waitGone(process_, new Deadline(KILLED_WAIT_MS)))) {
      throw new Error(`mysqld ${process_.pid} survives SIGKILL`);
    }
  }

  /** Orderly stop within `boundMs`, else SIGKILL; supervision ends. */
  async shutDown(boundMs: number): Promise<void> {
    await this.hold();
    this.#stop.abort();
    await this.#loop;
    const process_ = this.#process;
    if (process_ === null) return;
    signal(process_.pid, "SIGTERM");
    if (!(await this.#waitGone(process_, new Deadline(boundMs)))) await this.kill();
    this.#process = null;
  }

  /** While held, a mysqld that ends stays down; one that is just being started is waited for. */
  async hold(): Promise<void> {
    this.#held = true;
    await this.#starting;
  }

  unhold(): void {
    this.#held = false;
  }

  /** Waits until mysqld has ended by itself; false at the deadline. */
  async waitExit(deadline: Deadline): Promise<boolean> {
    return this.#process === null || this.#waitGone(this.#process, deadline);
  }

  /** Puts a pristine data directory in place of the present one; mysqld must be down. False without a template. */
  async replaceDataDirectory(): Promise<boolean> {
    const { templateDataDir } = this.#supervise;
    if (templateDataDir === null) return false;
    await fillDataDirectory(this.#dataDir, templateDataDir);
    await this.#onReplaced();
    return true;
  }

  async #keepRunning(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const process_ = this.#process;
      if (process_ !== null && isAlive(process_)) {
        await this.#sleepWhileAlive();
        continue;
      }
      this.#process = null;
      if (this.#held) {
        await sleep(POLL_MS, this.#stop.signal);
        continue;
      }
      await this.#restart();
    }
  }

  async #restart(): Promise<void> {
    const waitMs = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#logger.warn({ waitMs }, "mysqld has ended; starting it again, closed");
    await sleep(waitMs, this.#stop.signal);
    if (this.#stop.signal.aborted || this.#held) return;
    this.#starting = this.#spawn().catch((error: unknown) => {
      this.#logger.error({ err: error }, "mysqld could not be started");
    });
    await this.#starting;
  }

  async #sleepWhileAlive(): Promise<void> {
    const beganMs = monotonicMs();
    while (!this.#stop.signal.aborted && this.#process !== null && isAlive(this.#process)) {
      await sleep(ALIVE_POLL_MS, this.#stop.signal);
      if (monotonicMs() - beganMs > STABLE_MS) this.#failures = 0;
    }
  }

  async #spawn(): Promise<void> {
    const [program, ...args] = this.#supervise.command;
    if (program === undefined) throw new Error("no mysqld command");
    if (await wantsPristineData(this.#dataDir)) await this.replaceDataDirectory();
    await mkdir(dirname(this.#supervise.logFile), { recursive: true });
    await mkdir(dirname(this.#supervise.pidFile), { recursive: true });
    const log = await open(this.#supervise.logFile, "a");
    try {
      // A process group of its own: it must outlive the agent and never see the terminal's Ctrl-C.
      const child = spawn(program, args, { detached: true, stdio: ["ignore", log.fd, log.fd] });
      await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
      child.unref();
      const identity = child.pid === undefined ? null : identityOf(child.pid);
      if (identity === null) throw new Error(`mysqld ended at once, see ${this.#supervise.logFile}`);
      this.#process = identity;
      this.#starts += 1;
      this.#logger.info({ mysqldPid: identity.pid }, "mysqld started");
      await this.#remember(identity);
    } finally {
      await log.close();
    }
  }

  /** The pid file may be lost, or may never have been written: then mysqld is known by its command line. */
  async #find(): Promise<ProcessIdentity | null> {
    const { pidFile, command } = this.#supervise;
    const known = await readPidFile(pidFile);
    if (known !== null) return known;
    const found = await findByArguments(command.slice(1));
    if (found !== null) await this.#remember(found);
    return found;
  }

  /** A pid file that cannot be written (a full disk) does not make a running mysqld a stranger. */
  async #remember(identity: ProcessIdentity): Promise<void> {
    try {
      await writePidFile(this.#supervise.pidFile, identity);
    } catch (error) {
      this.#logger.error({ err: error }, "the pid file could not be written");
    }
  }

  async #waitGone(process_: ProcessIdentity, deadline: Deadline): Promise<boolean> {
    while (isAlive(process_)) {
      if (deadline.passed) return false;
      await sleep(POLL_MS);
    }
    return true;
  }
}

function signal(pid: number, name: "SIGKILL" | "SIGTERM"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
