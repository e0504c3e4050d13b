// Where no mysqlbinlog is beside the agent, errant transactions are kept as the log files that hold them, byte for byte:
// `mysqlbinlog --include-gtids=…` of any MySQL image prints them later.
import { copyFile, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Deadline } from "../runtime/clock.ts";
import { binlogsWith } from "./db/binlog-files.ts";
import { subtract } from "./db/gtid.ts";
import type { Session } from "./db/session.ts";
import { syncPath } from "./state-file.ts";

export interface TailLogsRequest {
  readonly session: Session;
  readonly dataDir: string;
  readonly archiveDir: string;
  /** Name of the folder to make. */
  readonly name: string;
  readonly gtids: string;
  /** What of it is in the binary logs; the rest is in relay logs. */
  readonly executed: string;
  readonly deadline: Deadline;
}

/**
 * Copies the binary and relay logs in which the transactions in `gtids` are, with their list.
 * @returns the folder's path, forced to disk
 * @throws Error when a file cannot be copied or the deadline passes
 */
export async function keepTailLogs(request: TailLogsRequest): Promise<string> {
  const { session, dataDir, archiveDir, name, gtids, executed, deadline } = request;
  const folder = join(archiveDir, name);
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true, mode: 0o700 });
  await writeFile(join(unfinished, "gtids.txt"), `${gtids}\n`);
  const received = await subtract(session, gtids, executed);
  const logs = await binlogsWith(session, await subtract(session, gtids, received));
  if (received !== "") logs.push(...(await readdir(dataDir)).filter((file) => /^relay-bin\.\d+$/.test(file)));
  for (const log of logs) {
    if (deadline.passed) throw new Error(`the deadline passed before ${log} was copied`);
    await copyFile(join(dataDir, log), join(unfinished, log));
    await syncPath(join(unfinished, log));
  }
  await syncPath(join(unfinished, "gtids.txt"));
  await syncPath(unfinished);
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished, folder);
  await syncPath(archiveDir);
  return folder;
}
