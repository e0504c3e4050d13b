import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Deadline, sleep } from "../../runtime/clock.ts";

const RETRY_MS = 100;

/**
 * A lock between processes of one user on one machine. It is a listening socket, so the kernel gives it up when its
 * holder dies, however it dies: no stale lock files. On Linux the socket lives in the abstract namespace.
 */
export class ProcessLock {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** The lock named `name`, or undefined when another process holds it. */
  static async tryAcquire(name: string): Promise<ProcessLock | undefined> {
    const path = socketPath(name);
    const first = await listen(path);
    if (first !== undefined) return new ProcessLock(first);
    if (path.startsWith("\0") || (await answers(path))) return undefined;
    await rm(path, { force: true }); // left by a process that died; only where sockets are files
    const second = await listen(path);
    return second === undefined ? undefined : new ProcessLock(second);
  }

  /**
   * Waits for the lock.
   * @param onWait called once when another process holds it
   * @throws Error after `timeoutMs`, or when `signal` is aborted
   */
  static async acquire(name: string, timeoutMs: number, signal: AbortSignal, onWait: () => void): Promise<ProcessLock> {
    const deadline = new Deadline(timeoutMs);
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted();
      const lock = await ProcessLock.tryAcquire(name);
      if (lock !== undefined) return lock;
      if (deadline.passed) throw new Error(`another process has held the lock ${name} for ${timeoutMs} ms`);
      if (tries === 0) onWait();
      await sleep(RETRY_MS, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

function socketPath(name: string): string {
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
  const unique = `striped-orders-${process.getuid?.() ?? 0}-${digest}`;
  return process.platform === "linux" ? `\0${unique}` : join(tmpdir(), `${unique}.lock`);
}

function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
