// Finding a mysqld again after the agent's own restart: pid and start time, because pids are reused.
import { readFileSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

const identitySchema = z.object({ pid: z.int().min(1), startTicks: z.string() });
export type ProcessIdentity = z.infer<typeof identitySchema>;

/** Null when no such process lives (a zombie does not). */
export function identityOf(pid: number): ProcessIdentity | null {
  let stat: string;
  try {
    // Of the kernel, not of a disk: it never waits, and the thread pool would cost ten times as much.
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // After the command's name in parentheses: state, ppid, …; the start time is the 20th field there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  return { pid, startTicks: fields[19] ?? "" };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.startTicks === identity.startTicks;
}

/** The living process that the pid file names, or null. */
export async function readPidFile(path: string): Promise<ProcessIdentity | null> {
  try {
    const identity = identitySchema.parse(JSON.parse(await readFile(path, "utf8")));
    return isAlive(identity) ? identity : null;
  } catch {
    return null;
  }
}

/** The living process whose command line ends with exactly these arguments. Null without arguments, or without one. */
export async function findByArguments(args: readonly string[]): Promise<ProcessIdentity | null> {
  if (args.length === 0) return null;
  const ending = `\0${args.join("\0")}\0`;
  for (const entry of await readdir("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").endsWith(ending)) continue;
    } catch {
      continue; // it has ended meanwhile
    }
    const identity = identityOf(pid);
    if (identity !== null) return identity;
  }
  return null;
}

export async function writePidFile(path: string, identity: ProcessIdentity): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(identity));
  await rename(`${path}.new`, path);
}
