import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DemoCluster, DemoServer } from "./day.ts";
import type { DemoOptions } from "./options.ts";
import { runDemo } from "./run-demo.ts";

/** Plays against the cluster in `dir`. @returns the exit code; 2 = it could not be played */
export async function playOnThisMachine(dir: string, options: DemoOptions): Promise<number> {
  const cluster = async (): Promise<DemoCluster> =>
    JSON.parse(await readFile(join(dir, "cluster.json"), "utf8")) as DemoCluster;
  try {
    return await runDemo({ ...options, cluster, kill: options.kill ? kill : null });
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    process.stderr.write(missing ? `no cluster runs in ${dir}: start one with \`npm start\`\n` : `${String(error)}\n`);
    return 2;
  }
}

function kill({ name, pid }: DemoServer): void {
  if (pid === null) throw new Error(`${name} is not running, so it cannot be killed`);
  process.kill(pid, "SIGKILL");
  process.stdout.write(`killed the source ${name} (pid ${pid})\n`);
}
