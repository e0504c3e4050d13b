// `npm run test:jump -- --rounds N --seed S`. A round that breaks something names its seed; play it again with
// `--rounds 1 --seed THAT`.
import { requireNode } from "../../../runtime/env.ts";
import { roundsFromArgs } from "../../support/random-rounds.ts";
import { runRounds } from "./run-rounds.ts";

requireNode();
const wanted = roundsFromArgs(process.argv.slice(2));
if (wanted === null) {
  process.stderr.write("usage: npm run test:jump -- [--rounds 1…100000] [--seed INTEGER]\n");
  process.exit(2);
}
const { rounds, seed } = wanted;
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
tell(`${rounds} rounds from seed ${seed}`);
const results = await runRounds({ rounds, seed }, tell);
const sum = (of: (result: (typeof results)[number]) => number): number => results.reduce((n, r) => n + of(r), 0);
const broken = sum((r) => r.broken.length);
tell(
  `${results.length} rounds, ${sum((r) => r.answers)} answers, ${sum((r) => r.orders)} orders, ` +
    `${sum((r) => r.doubles)} numbers with doubles, ${sum((r) => r.payments)} payments, ` +
    `${sum((r) => r.excess)} excess: ${broken} violations`,
);
if (broken > 0) process.exitCode = 1;
