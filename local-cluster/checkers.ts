// The health checkers: they open every triple, fail it over and make it whole again.
import { writeFile } from "node:fs/promises";
import type { TriplesConfigInput } from "../health-checker/config.ts";
import { answersOk, type ClusterContext, controlEnv, SMALL_HEAP } from "./context.ts";
import type { ClusterPlan } from "./plan.ts";

/** What the checkers are told of the cluster's triples. */
export function triplesConfig(plan: ClusterPlan): TriplesConfigInput {
  return {
    triples: plan.stripes.map(({ stripe, tripleId, servers }) => ({
      stripe,
      tripleId,
      servers: servers.map(({ name, address, port, agentPort }) => ({
        name,
        agentUrl: `http://127.0.0.1:${agentPort}`,
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
    context.plan.checkers.map(({ name, port, url }) => {
      const env = {
        HOST: "127.0.0.1",
        PORT: String(port),
        LOG_LEVEL: "info",
        INSTANCE: name,
        ...controlEnv(context),
        TRIPLES_CONFIG: file,
        ROUTING_CACHE_FILE: context.folder.path("cache", `${name}-routing-table.json`),
      };
      return context.launchEntry(name, "health-checker/main.ts", env, () => answersOk(`${url}/healthz`), SMALL_HEAP);
    }),
  );
}
