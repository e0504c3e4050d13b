import { requireNode } from "../../runtime/env.ts";
import { playInContainers } from "./in-containers.ts";
import { demoCommand, type DemoOptions } from "./options.ts";
import { playOnThisMachine } from "./on-this-machine.ts";

requireNode();

const { dir, compose, ...options } = demoCommand()
  .option("--dir <dir>", "the cluster's folder", ".local-cluster")
  .option("--compose", "play against the cluster of docker compose instead", false)
  .parse()
  .opts<DemoOptions & { dir: string; compose: boolean }>();
process.exitCode = await (compose ? playInContainers(options) : playOnThisMachine(dir, options));
