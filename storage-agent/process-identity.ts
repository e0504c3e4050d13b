// Finding a mysqld again after the agent's own restart: pid and start time, because pids are reused.
import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

const identitySchema = z.object({ pid: z.int().min(1), startTicks: z.string() });
export type ProcessIdentity = z.infer<typeof identitySchema>;

/** Null when no such process lives (a zombie does not). */
export async function identityOf(pid: number): Promise<ProcessIdentity | null> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // After the command's name in parentheses: state, ppid, …; the start time is the 20th field there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  return { pid, startTicks: fields[19] ?? "" };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await identityOf(identity.pid))?.startTicks === identity.startTicks;
}

/** The living process that the pid file names, or null. */
export async function readPidFile(path: string): Promise<ProcessIdentity | null> {
  try {
    const identity = identitySchema.parse(JSON.parse(await readFile(path, "utf8")));
    return (await isAlive(identity)) ? identity : null;
  } catch {
    return null;
  }
}

export async function writePidFile(path: string, identity: ProcessIdentity): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(identity));
  await rename(`${path}.new`, path);
}
