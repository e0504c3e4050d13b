// The demo against the cluster of docker compose: it is played by a container inside, where the databases can be
// reached; what only the engine can do, killing a container, is done from here when the player asks for it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DemoOptions } from "./options.ts";

const PROJECT_DIR = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = "local-cluster/containers/main.ts";
const KILL_REQUEST = /^please kill ([a-z0-9]+)$/;

/** How the player asks for a kill, on its standard output. */
export function killRequest(server: string): string {
  return `please kill ${server}`;
}

/** Plays against the compose cluster. @returns the exit code; 2 = it could not be played */
export async function playInContainers(options: DemoOptions): Promise<number> {
  const { orders, merchants, seed, parallel, kill } = options;
  const numbers = Object.entries({ orders, merchants, seed, parallel }).map(([name, n]) => `--${name}=${n}`);
  const args = ["demo", ...numbers, ...(kill ? [] : ["--no-kill"])];
  const player = compose(["run", "--rm", "-T", "--no-deps", "demo", ENTRY, ...args], "pipe");
  const killed: string[] = [];
  if (player.stdout !== null) {
    for await (const line of createInterface({ input: player.stdout })) {
      const server = KILL_REQUEST.exec(line)?.[1];
      if (server === undefined) process.stdout.write(`${line}\n`);
      else if ((await finished(compose(["kill", server], "ignore"))) === 0) {
        killed.push(server);
        process.stdout.write(`killed the container of the source ${server}\n`);
      }
    }
  }
  const code = await finished(player);
  if (killed.length === 0) return code;
  // The engine does not start again what a person has killed.
  process.stdout.write(`starting ${killed.join(", ")} again\n`);
  const started = await finished(compose(["start", ...killed], "ignore"));
  return code === 0 ? started : code;
}

function compose(args: readonly string[], stdout: "pipe" | "ignore"): ChildProcess {
  return spawn("docker", ["compose", ...args], { cwd: PROJECT_DIR, stdio: ["ignore", stdout, "inherit"] });
}

async function finished(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return code ?? 2;
  } catch (error) {
    process.stderr.write(`docker compose cannot be run: ${(error as Error).message}\n`);
    return 2;
  }
}
