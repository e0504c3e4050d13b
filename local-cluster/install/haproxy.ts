import { readEnv } from "../../runtime/env.ts";
import { findProgram, isExecutable, runCommand } from "./run-command.ts";
import type { Work } from "./work.ts";

const USUAL_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin"];
const UPDATE_TIMEOUT_MS = 180_000;
const INSTALL_TIMEOUT_MS = 300_000;
const COMMAND = "apt-get update && apt-get install -y haproxy";

/**
 * Path of the HAProxy program: `HAPROXY`, PATH, the usual folders; else, as root on Debian or Ubuntu, installed from the
 * distribution.
 * @throws Error with the exact command to run when it is missing and cannot be installed from here
 */
export async function findOrInstallHaproxy({ tell, signal }: Work): Promise<string> {
  const named = readEnv("HAPROXY");
  if (named !== undefined) {
    if (await isExecutable(named)) return named;
    throw new Error(`HAPROXY names ${named}, which cannot be run`);
  }
  const found = await findProgram("haproxy", USUAL_FOLDERS);
  if (found !== undefined) return found;
  if ((await findProgram("apt-get")) === undefined) {
    throw new Error("HAProxy was not found on PATH: install it (on macOS: brew install haproxy)");
  }
  if (process.getuid?.() !== 0)
    throw new Error(`HAProxy is missing. Run this once, then start again:\n  sudo sh -c '${COMMAND}'`);
  tell("installing HAProxy from the distribution");
  try {
    await runCommand(["apt-get", "-q", "update"], { timeoutMs: UPDATE_TIMEOUT_MS, signal });
    // RUNLEVEL=1 keeps the package from starting a service of its own.
    const env = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    const install = ["apt-get", "-q", "install", "-y", "--no-install-recommends", "haproxy"];
    await runCommand(install, { timeoutMs: INSTALL_TIMEOUT_MS, env, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`HAProxy could not be installed; run as root: ${COMMAND}\n${(error as Error).message}`, {
      cause: error,
    });
  }
  const installed = await findProgram("haproxy", USUAL_FOLDERS);
  if (installed === undefined) throw new Error("HAProxy was installed but its program was not found");
  return installed;
}
