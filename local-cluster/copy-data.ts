import { runCommand } from "./install/run-command.ts";

const COPY_TIMEOUT_MS = 120_000;

/** Copies a data directory (of a stopped server): shared blocks where the file system can, holes stay holes. */
export async function copyDataDirectory(from: string, to: string): Promise<void> {
  const options = process.platform === "linux" ? ["-a", "--reflink=auto", "--sparse=always"] : ["-a", "-c"];
  await runCommand(["cp", ...options, from, to], { timeoutMs: COPY_TIMEOUT_MS });
}
