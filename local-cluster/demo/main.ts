import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { requireNode } from "../../runtime/env.ts";
import type { ClusterInfo } from "../cluster-info.ts";
import { runDemo } from "./run-demo.ts";

requireNode();

function count(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1 || n > 1_000_000)
    throw new InvalidArgumentError("a whole number from 1 to 1000000");
  return n;
}

const program = new Command("demo")
  .description("Play a day of orders against a running local cluster, kill a source halfway, check everything")
  .option("--dir <dir>", "the cluster's folder", ".local-cluster")
  .option("--orders <n>", "orders of the day", count, 4000)
  .option("--merchants <n>", "merchants, of very different size", count, 400)
  .option("--seed <n>", "the same seed plays the same day", count, 1)
  .option("--parallel <n>", "clients at work at once", count, 48)
  .option("--no-kill", "let every source live")
  .parse();
const { dir, ...options } = program.opts<Parameters<typeof runDemo>[1] & { dir: string }>();
const cluster = (): ClusterInfo => JSON.parse(readFileSync(join(dir, "cluster.json"), "utf8")) as ClusterInfo;
try {
  process.exitCode = await runDemo(cluster, options);
} catch (error) {
  const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
  process.stderr.write(missing ? `no cluster runs in ${dir}: start one with \`npm start\`\n` : `${String(error)}\n`);
  process.exitCode = 2;
}
