import { type Command, Option } from "commander";
import { bench, type What, WHATS } from "./run.ts";

const SAYS: Readonly<Record<What, string>> = {
  create: "creates against raw commits, raw batches and a plain service; processor time, memory, replicas' lag",
  pay: "pays against the same as five statements",
  mixed: "creates, pays and queries together",
  query: "queries by number against the driver's point select",
  scale: "1, 2 and 4 stripes whose acknowledgements are 20 ms away",
  all: "all of these",
};

/** `bench create|pay|mixed|query|scale|all`. */
export function addPerformance(program: Command): void {
  for (const what of WHATS) {
    program
      .command(what)
      .description(SAYS[what])
      .option("--json <file>", "write the figures there")
      .option("--quick", "shorter runs", false)
      .addOption(new Option("--keep", "keep the figures in bench/results and draw the picture").default(what === "all"))
      .action(async (options: { json?: string; quick: boolean; keep: boolean }) => {
        const keep = options.keep && !options.quick;
        process.exitCode = await bench({ what, quick: options.quick, json: options.json, keep });
      });
  }
}
