import { rm } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./run-command.ts";
import { parseMysqlVersion } from "./mysql-version.ts";

const VERSION_TIMEOUT_MS = 20_000;
const INITIALISE_TIMEOUT_MS = 120_000;

/** Sizes chosen when a data directory is made; every server is started with the same. */
export const dataDirectoryOptions: readonly string[] = ["--innodb-redo-log-capacity=67108864"];

/**
 * The version of a mysqld that runs.
 * @throws Error when it does not run, or is not MySQL 8.4 or newer
 */
export async function mysqldVersion(mysqld: readonly string[]): Promise<string> {
  return parseMysqlVersion(await runCommand([...mysqld, "--version"], { timeoutMs: VERSION_TIMEOUT_MS })).text;
}

/**
 * Makes a data directory whose only account is root without a password. `dir` must not exist.
 * @throws Error with what mysqld said
 */
export async function initialiseDataDirectory(
  mysqld: readonly string[],
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const options = [`--datadir=${dir}`, "--initialize-insecure", "--disable-log-bin", ...dataDirectoryOptions];
  try {
    await runCommand([...mysqld, ...options], { timeoutMs: INITIALISE_TIMEOUT_MS, signal });
  } catch (error) {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    throw error;
  }
  await rm(join(dir, "auto.cnf"), { force: true }); // each server gets a server_uuid of its own
}
