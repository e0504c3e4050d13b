import { readFile, rm } from "node:fs/promises";
import { writeFileAtomically } from "../folder.ts";
import { findProcess } from "./process-list.ts";

/** Records a process of ours with its start time, so that a recycled pid is never taken for it. */
export async function writePidFile(path: string, pid: number): Promise<void> {
  const info = await findProcess(pid);
  if (info === undefined) return; // it ended already
  await writeFileAtomically(path, JSON.stringify({ pid, startedAt: info.startedAt }));
}

/** The recorded process when it still lives, else undefined. */
export async function readLivingPid(path: string): Promise<number | undefined> {
  try {
    const { pid, startedAt } = JSON.parse(await readFile(path, "utf8")) as { pid: unknown; startedAt: unknown };
    if (typeof pid !== "number" || typeof startedAt !== "string") return undefined;
    return (await findProcess(pid))?.startedAt === startedAt ? pid : undefined;
  } catch {
    return undefined;
  }
}

export async function removePidFile(path: string): Promise<void> {
  await rm(path, { force: true });
}
