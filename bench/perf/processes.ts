// What processes cost, from /proc: processor time and memory of the cluster's, and what everybody else used meanwhile.
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second: 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KERNEL_THREADS = 2;

interface Stat {
  readonly ppid: number;
  readonly seconds: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { ppid: Number(fields[1]), seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND };
  } catch {
    return undefined; // gone
  }
}

function allPids(): number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Resident memory, MiB. */
export function rssMb(pid: number): number {
  try {
    const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return Number(kb ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Processor seconds of every process at one moment. */
export class CpuSnapshot {
  readonly #stats = new Map<number, Stat>();

  constructor() {
    for (const pid of allPids()) {
      const stat = statOf(pid);
      if (stat !== undefined) this.#stats.set(pid, stat);
    }
  }

  /** What a process used since an earlier snapshot, in seconds. */
  since(earlier: CpuSnapshot, pid: number): number {
    return (this.#stats.get(pid)?.seconds ?? 0) - (earlier.#stats.get(pid)?.seconds ?? 0);
  }

  /** What processes used that neither are nor descend from `ours`, in seconds; the kernel's own threads are nobody's. */
  others(earlier: CpuSnapshot, ours: ReadonlySet<number>): number {
    let seconds = 0;
    for (const pid of this.#stats.keys()) if (!this.#belongs(pid, ours)) seconds += this.since(earlier, pid);
    return seconds;
  }

  #belongs(pid: number, ours: ReadonlySet<number>): boolean {
    for (let at = pid; at > 0; at = this.#stats.get(at)?.ppid ?? 0) {
      if (ours.has(at) || at === KERNEL_THREADS) return true;
    }
    return false;
  }
}
