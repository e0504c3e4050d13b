// How full the disk below the data is. Asked beside everything else and never waited for: a disk that hangs must not keep
// an agent's answers.
import { statfs } from "node:fs/promises";
import type { DiskSpace } from "../core/agent-wire.ts";
import { monotonicMs } from "../runtime/clock.ts";

const KEEP_MS = 5_000;

export class DiskWatch {
  readonly #dir: string;
  #last: DiskSpace | null = null;
  #askedMs = -Infinity;
  #asking = false;

  /** @param dir the data directory */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Bytes as they were at most some seconds ago; null when they are not known. */
  current(): DiskSpace | null {
    if (!this.#asking && monotonicMs() - this.#askedMs >= KEEP_MS) void this.#ask();
    return this.#last;
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    this.#askedMs = monotonicMs();
    try {
      const { bavail, blocks, bsize } = await statfs(this.#dir);
      this.#last = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    } catch {
      this.#last = null;
    } finally {
      this.#asking = false;
    }
  }
}
