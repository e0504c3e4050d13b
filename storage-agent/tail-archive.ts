// Errant transactions (never acknowledged to any client) are kept before their data is replaced, so that an auditor can
// compare them with what the payers were told.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Deadline } from "../runtime/clock.ts";
import { syncPath } from "./state-file.ts";

const STDERR_CHARS_MAX = 2_000;

export interface TailRequest {
  readonly command: readonly string[];
  readonly dataDir: string;
  readonly archiveDir: string;
  /** Name of the file without its ending. */
  readonly name: string;
  readonly gtids: string;
  readonly deadline: Deadline;
}

/**
 * Writes the transactions in `gtids`, from binary and relay logs, as mysqlbinlog prints them.
 * @returns the file's path, forced to disk
 * @throws Error when mysqlbinlog fails or the deadline passes
 */
export async function archiveTail(request: TailRequest): Promise<string> {
  const { archiveDir, dataDir } = request;
  await mkdir(archiveDir, { recursive: true });
  const path = join(archiveDir, `${request.name}.sql`);
  const logs = (await readdir(dataDir)).filter((name) => /^(binlog|relay-bin)\.\d+$/.test(name)).toSorted();
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(`-- errant transactions ${request.gtids}\n`);
    if (logs.length > 0) await run(request, logs, file.fd);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await syncPath(archiveDir);
  return path;
}

async function run(request: TailRequest, logs: readonly string[], fd: number): Promise<void> {
  const [program = "", ...args] = [
    ...request.command,
    "--verbose",
    `--include-gtids=${request.gtids}`,
    ...logs.map((name) => join(request.dataDir, name)),
  ];
  const child = spawn(program, args, {
    stdio: ["ignore", fd, "pipe"],
    timeout: Math.max(1, Math.floor(request.deadline.remainingMs())),
    killSignal: "SIGKILL",
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARS_MAX);
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`mysqlbinlog ended with ${code ?? "a time-out"}: ${stderr}`);
}
