import { readdir, readFile } from "node:fs/promises";
import { runCommand } from "../install/run-command.ts";

const PS_TIMEOUT_MS = 10_000;

export interface ProcessInfo {
  readonly pid: number;
  /** When it started, in a form of the system's own: with the pid it names one process for ever. */
  readonly startedAt: string;
  readonly command: string;
}

/** Every process of this machine that this user may see. */
export async function listProcesses(): Promise<ProcessInfo[]> {
  return process.platform === "linux" ? listFromProc() : listFromPs();
}

/** One process, or undefined when it is gone (a zombie is gone). */
export async function findProcess(pid: number): Promise<ProcessInfo | undefined> {
  if (process.platform === "linux") return readProc(pid);
  return (await listFromPs()).find((info) => info.pid === pid);
}

async function listFromProc(): Promise<ProcessInfo[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(readProc));
  return found.filter((info) => info !== undefined);
}

async function readProc(pid: number): Promise<ProcessInfo | undefined> {
  try {
    const [stat, cmdline] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
    ]);
    // The second field is the program's name in parentheses, which may hold spaces; the 3rd is the state, the 22nd the
    // start time in ticks since boot.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z") return undefined;
    return { pid, startedAt: fields[19] ?? "", command: cmdline.replaceAll("\0", " ").trim() };
  } catch {
    return undefined; // it ended meanwhile
  }
}

async function listFromPs(): Promise<ProcessInfo[]> {
  const text = await runCommand(["ps", "-axww", "-o", "pid=,lstart=,command="], { timeoutMs: PS_TIMEOUT_MS });
  return text.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line);
    return match === null ? [] : [{ pid: Number(match[1]), startedAt: match[2] ?? "", command: match[3] ?? "" }];
  });
}
