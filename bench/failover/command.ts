import type { Command } from "commander";
import { benchFailover, modesOf } from "./run.ts";

/** `bench failover`: what clients see while sources die, hang, or change on purpose. */
export function addFailover(program: Command): void {
  program
    .command("failover")
    .description("outage of a stripe's pays while its source is killed, stopped, or switched over, under load")
    .option("--rounds <n>", "rounds of each mode", Number, 30)
    .option("--mode <mode>", "kill, stop, switchover or all", "all")
    .option("--full", "clients without pauses: as much as the machine can do")
    .option("--json <file>", "write the figures there")
    .action(async (options: { rounds: number; mode: string; full?: boolean; json?: string }) => {
      const modes = modesOf(options.mode);
      process.exitCode = await benchFailover({
        rounds: options.rounds,
        modes,
        full: options.full === true,
        json: options.json,
      });
    });
}
