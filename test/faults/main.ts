// `npm run test:faults`: every fault test. With `--rounds N --seed S` random rounds instead: round n is played with seed
// S + n; one that breaks something is told, and ends the run.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { requireNode } from "../../runtime/env.ts";
import { roundsFromArgs } from "../support/random-rounds.ts";
import { runRounds } from "./random/run-rounds.ts";

requireNode();
const args = process.argv.slice(2);
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
if (args.length === 0) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "../run.ts"), "faults/"], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} else {
  const wanted = roundsFromArgs(args);
  if (wanted === null) {
    process.stderr.write("usage: npm run test:faults -- [--rounds 1…100000] [--seed INTEGER]\n");
    process.exit(2);
  }
  // What was started ends with this process, however it ends: see the `exit` handlers of whoever started it.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(130));
  tell(`${wanted.rounds} rounds from seed ${wanted.seed}`);
  const results = await runRounds(wanted, tell);
  const sum = (of: (result: (typeof results)[number]) => number): number => results.reduce((n, r) => n + of(r), 0);
  const broken = sum((r) => r.broken.length);
  const took = results.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  tell(
    `${results.length} rounds, ${sum((r) => r.answers)} answers, ${sum((r) => r.acked + r.ledgerAcked)} acknowledged ` +
      `writes, ${sum((r) => r.leads)} changes of source, median round ${took[Math.floor(took.length / 2)] ?? 0} ms: ` +
      `${broken} violations`,
  );
  if (broken > 0) process.exitCode = 1;
}
