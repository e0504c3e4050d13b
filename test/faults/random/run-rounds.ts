import { monotonicMs } from "../../../runtime/clock.ts";
import { playRounds, type Rounds } from "../../support/random-rounds.ts";
import { lostSince } from "./read-back.ts";
import { playRound, type RoundResult } from "./round.ts";
import { FaultStand } from "./stand.ts";

/** Plays rounds one after another on one triple; stops at the first that breaks something, and tells its seed. */
export async function runRounds(rounds: Rounds, tell: (line: string) => void): Promise<RoundResult[]> {
  const beganMs = monotonicMs();
  await using stand = await FaultStand.start();
  tell(`the triple and its services stand after ${Math.round(monotonicMs() - beganMs)} ms`);
  const results = await playRounds(
    rounds,
    (seed) => playOne(stand, seed),
    (result) => tellRound(result, tell),
  );
  const last = results.at(-1);
  if (last === undefined || last.broken.length > 0) return results;
  const lost = await lostSince(stand, stand.acked);
  if (lost.length === 0) return results;
  const broken = [`${lost.length} rows acknowledged in earlier rounds are lost`];
  tell(`  ${broken[0] ?? ""}`);
  return [...results.slice(0, -1), { ...last, broken }];
}

/** A round that does not come to its end is broken, too. */
async function playOne(stand: FaultStand, seed: number): Promise<RoundResult> {
  const story: string[] = [];
  try {
    return await playRound(stand, seed, story);
  } catch (error) {
    const broken = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    const none = { story, answers: 0, acked: 0, refused: 0, doubts: 0, ledgerAcked: 0, leads: 0, tookMs: 0 };
    return { seed, broken, ...none };
  }
}

function tellRound(result: RoundResult, tell: (line: string) => void): void {
  const { seed, story, acked, refused, doubts, ledgerAcked, leads, tookMs, broken, answers } = result;
  tell(
    `seed ${seed}: ${tookMs} ms, ${answers} answers, ${acked} acknowledged, ${refused} refused, ${doubts} doubtful answers, ` +
      `${ledgerAcked} rows, ${leads} changes: ${broken.length} violations; ${story.join("; ")}`,
  );
  for (const line of broken) tell(`  ${line}`);
  if (broken.length > 0) tell(`play it again with: npm run test:faults -- --rounds 1 --seed ${seed}`);
}
