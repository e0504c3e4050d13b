import { JumpCluster } from "../support/jump-cluster.ts";
import { playRound, type RoundResult, setUpMerchants } from "./round.ts";

export interface Rounds {
  readonly rounds: number;
  /** Round n is played with seed + n. */
  readonly seed: number;
}

/** Plays rounds one after another on one cluster; stops at the first that breaks something. */
export async function runRounds({ rounds, seed }: Rounds, tell: (line: string) => void): Promise<RoundResult[]> {
  await using cluster = await JumpCluster.start({ instances: 2 });
  await setUpMerchants(cluster);
  const results: RoundResult[] = [];
  for (let n = 0; n < rounds; n++) {
    const result = await playRound(cluster, seed + n);
    results.push(result);
    const { answers, orders, doubles, payments, excess, broken } = result;
    tell(
      `seed ${result.seed}: ${answers} answers, ${orders} orders, ${doubles} numbers with doubles, ` +
        `${payments} payments, ${excess} excess: ${broken.length} violations`,
    );
    for (const line of broken) tell(`  ${line}`);
    if (broken.length > 0) break;
  }
  return results;
}
