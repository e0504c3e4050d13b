import type { Command } from "commander";
import { faultsOf } from "./faults.ts";
import { benchJump } from "./run.ts";

/** `bench jump`: what creates meet while one of three stripes is frozen, killed, cut off, or slow. */
export function addJump(program: Command): void {
  program
    .command("jump")
    .description(
      "creates on three stripes while one has its source frozen, its services killed, its network cut, or is slow",
    )
    .option("--fault <name>", "source, services, network, slow or all", "all")
    .option("--workers <n>", "creates at the same time", Number, 8)
    .option("--seconds <n>", "length of each fault, and of the time before it", Number, 10)
    .option("--json <file>", "write the figures there")
    .action(async (options: { fault: string; workers: number; seconds: number; json?: string }) => {
      const { workers, seconds, json } = options;
      process.exitCode = await benchJump({ faults: faultsOf(options.fault), workers, seconds, json });
    });
}
