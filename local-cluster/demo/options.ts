import { Command, InvalidArgumentError } from "commander";

export interface DemoOptions {
  readonly orders: number;
  readonly merchants: number;
  readonly seed: number;
  readonly parallel: number;
  readonly kill: boolean;
}

/** The demo's command line, as far as it is the same for every kind of cluster. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("Play a day of orders against a running cluster, kill a source halfway, check everything")
    .option("--orders <n>", "orders of the day", count, 4000)
    .option("--merchants <n>", "merchants, of very different size", count, 400)
    .option("--seed <n>", "the same seed plays the same day", count, 1)
    .option("--parallel <n>", "clients at work at once", count, 48)
    .option("--no-kill", "let every source live");
}

function count(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1 || n > 1_000_000)
    throw new InvalidArgumentError("a whole number from 1 to 1000000");
  return n;
}
