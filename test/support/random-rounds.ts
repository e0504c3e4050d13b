// Random rounds of a checker: round n is played with seed + n, so that one that breaks something can be played again.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

const ROUNDS_DEFAULT = 100;
const ROUNDS_MAX = 100_000;
const SEED_MAX = 1_000_000;

export interface Rounds {
  readonly rounds: number;
  readonly seed: number;
}

export interface Played {
  readonly seed: number;
  /** What does not hold; empty for a good round. */
  readonly broken: readonly string[];
}

/** `--rounds N --seed S`; null when they make no sense. A seed that is not given is drawn. */
export function roundsFromArgs(args: readonly string[]): Rounds | null {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: "string" }, seed: { type: "string" } },
  });
  const rounds = Number(values.rounds ?? ROUNDS_DEFAULT);
  const seed = Number(values.seed ?? randomInt(SEED_MAX));
  const good = Number.isInteger(rounds) && rounds >= 1 && rounds <= ROUNDS_MAX && Number.isInteger(seed);
  return good ? { rounds, seed } : null;
}

/** Plays rounds one after another; stops at the first that breaks something. @param tell one line for each */
export async function playRounds<R extends Played>(
  { rounds, seed }: Rounds,
  play: (seed: number) => Promise<R>,
  tell: (result: R) => void,
): Promise<R[]> {
  const results: R[] = [];
  for (let n = 0; n < rounds; n++) {
    const result = await play(seed + n);
    results.push(result);
    tell(result);
    if (result.broken.length > 0) break;
  }
  return results;
}
