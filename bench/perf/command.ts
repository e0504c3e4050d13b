import { type Command, InvalidArgumentError, Option } from "commander";
import { bench, type What, WHATS } from "./run.ts";

const SAYS: Readonly<Record<What, string>> = {
  create: "creates against raw commits, raw batches and a plain service; processor time, memory, replicas' lag",
  curve: "latency of creates by how many are in flight",
  edge: "creates by the hot routes against the same by Express",
  pay: "pays against the same as five statements",
  mixed: "creates, pays and queries together",
  query: "queries by number against the driver's point select",
  scale: "1, 2 and 4 stripes whose acknowledgements are 20 ms away",
  rebuild: "creates while a replica that lost its disk is rebuilt by CLONE, against before",
  soak: "memory of proxy and service under load for minutes",
  growth: "creates on a stripe with millions of orders against one with fifty thousand",
  all: "all of these",
};

const GROWTH_ORDERS = 5_000_000;
const GROWTH_ORDERS_QUICK = 250_000;
const SOAK_S = 300;
const SOAK_S_QUICK = 60;

interface Given {
  readonly json?: string;
  readonly quick: boolean;
  readonly keep?: boolean;
  readonly orders?: number;
  readonly seconds?: number;
}

/** `bench create|curve|edge|pay|mixed|query|scale|rebuild|soak|growth|all`. */
export function addPerformance(program: Command): void {
  for (const what of WHATS) {
    const command = program
      .command(what)
      .description(SAYS[what])
      .option("--json <file>", "write the figures there")
      .option("--quick", "shorter runs", false)
      .addOption(
        new Option("--keep", "keep the figures in bench/results and draw the picture").default(what === "all"),
      );
    if (what === "growth" || what === "all") command.option("--orders <n>", "orders of the grown stripe", positive);
    if (what === "soak" || what === "all") command.option("--seconds <n>", "length of the soak", positive);
    command.action(async ({ json, quick, keep = false, orders, seconds }: Given) => {
      process.exitCode = await bench({
        what,
        quick,
        json,
        keep: keep && !quick,
        orders: orders ?? (quick ? GROWTH_ORDERS_QUICK : GROWTH_ORDERS),
        soakSeconds: seconds ?? (quick ? SOAK_S_QUICK : SOAK_S),
      });
    });
  }
}

function positive(text: string): number {
  const n = Number(text);
  if (Number.isSafeInteger(n) && n > 0) return n;
  throw new InvalidArgumentError("A positive integer is needed.");
}
