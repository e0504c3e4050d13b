// What runs in the cluster's own containers besides the services, and what writes the compose file.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { requireNode } from "../../runtime/env.ts";
import { composeFile } from "./compose-file.ts";
import { playDemo } from "./demo.ts";
import { Refused, sizeFromEnvironment } from "./environment.ts";
import { setUpContainers } from "./set-up.ts";
import { prepareControl, prepareStripes } from "./steps.ts";

requireNode();

const COMPOSE_FILE = fileURLToPath(new URL("../../docker-compose.yml", import.meta.url));

const actions: Readonly<Record<string, () => Promise<void>>> = {
  compose: () => writeFile(COMPOSE_FILE, composeFile()),
  "set-up": () => setUpContainers(sizeFromEnvironment()),
  "control-schema": prepareControl,
  stripes: prepareStripes,
  demo: () => playDemo(process.argv.slice(3)),
};

// As process 1 of a container a program without handlers of its own would not hear them.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

const action = actions[process.argv[2] ?? ""];
try {
  if (action === undefined) throw new Error(`one of: ${Object.keys(actions).join(", ")}`);
  await action();
} catch (error) {
  const { message, stack } = error as Error;
  process.stderr.write(`${error instanceof Refused ? message : (stack ?? String(error))}\n`);
  process.exitCode = 1;
}
