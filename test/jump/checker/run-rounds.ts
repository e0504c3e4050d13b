import { playRounds, type Rounds } from "../../support/random-rounds.ts";
import { JumpCluster } from "../support/jump-cluster.ts";
import { playRound, type RoundResult, setUpMerchants } from "./round.ts";

/** Plays rounds one after another on one cluster; stops at the first that breaks something. */
export async function runRounds(rounds: Rounds, tell: (line: string) => void): Promise<RoundResult[]> {
  await using cluster = await JumpCluster.start({ instances: 2 });
  await setUpMerchants(cluster);
  return await playRounds(
    rounds,
    (seed) => playRound(cluster, seed),
    ({ seed, answers, orders, doubles, payments, excess, broken }) => {
      tell(
        `seed ${seed}: ${answers} answers, ${orders} orders, ${doubles} numbers with doubles, ` +
          `${payments} payments, ${excess} excess: ${broken.length} violations`,
      );
      for (const line of broken) tell(`  ${line}`);
    },
  );
}
