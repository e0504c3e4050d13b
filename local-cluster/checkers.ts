// The health checkers: they open every triple, fail it over and make it whole again.
import { writeFile } from "node:fs/promises";
import type { TriplesConfigInput } from "../health-checker/config.ts";
import { answersOk, type ClusterContext } from "./context.ts";
import type { ClusterPlan } from "./plan.ts";
import { checkerEnv, SMALL_HEAP } from "./settings.ts";

/** What the checkers are told of the cluster's triples. */
export function triplesConfig(plan: ClusterPlan): TriplesConfigInput {
  return {
    triples: plan.stripes.map(({ stripe, tripleId, servers }) => ({
      stripe,
      tripleId,
      servers: servers.map(({ name, address, port, agentHost, agentPort }) => ({
        name,
        agentUrl: `http://${agentHost}:${agentPort}`,
        mysql: { host: address, port },
      })),
    })),
  };
}

/** Starts all checkers and waits until they answer; the control database is migrated. */
export async function startCheckers(context: ClusterContext): Promise<void> {
  const file = context.folder.path("triples.json");
  await writeFile(file, `${JSON.stringify(triplesConfig(context.plan), null, 2)}\n`, { mode: 0o600 });
  await Promise.all(
    context.plan.checkers.map((checker) => {
      const { name, url } = checker;
      const env = checkerEnv(context.settings, checker, file);
      return context.launchEntry(name, "health-checker/main.ts", env, () => answersOk(`${url}/healthz`), SMALL_HEAP);
    }),
  );
}
