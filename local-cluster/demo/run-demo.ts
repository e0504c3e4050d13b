import { type DayOptions, playDay } from "./day.ts";

const LISTED_MAX = 20;

function list(say: (line: string) => void, title: string, items: readonly string[]): void {
  say(`${title}: ${items.length}`);
  for (const item of items.slice(0, LISTED_MAX)) say(`  ${item}`);
  if (items.length > LISTED_MAX) say(`  … and ${items.length - LISTED_MAX} more`);
}

/**
 * Plays a day and prints what came of it.
 * @returns the exit code: 0 when every check held, 1 when not
 */
export async function runDemo(options: Omit<DayOptions, "say">): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const result = await playDay({ ...options, say });
  list(say, "merchant numbers with two open orders", result.twiceOpen);
  list(say, "faults", result.faults);
  const good = result.faults.length === 0;
  say(
    good
      ? `all ${result.acknowledged} acknowledged orders read back equal, and the money adds up`
      : "the day was not good",
  );
  return good ? 0 : 1;
}
