import { z } from "zod";
import { loadConfig } from "../../runtime/env.ts";
import { type ClusterSize, SIZE_MAX } from "../plan.ts";
import { COMPOSE_STRIPES } from "./plan.ts";

const count = (max: number) => z.coerce.number().int().min(1).max(max);

const schema = z.object({
  PROJECT: z.string().default("striped-orders"),
  STRIPES: count(COMPOSE_STRIPES).default(COMPOSE_STRIPES),
  SERVICES: count(SIZE_MAX.services).default(2),
  PROXIES: count(2).default(2),
  CHECKERS: count(2).default(2),
});

/** How large a cluster the set-up shall prepare, from the environment. */
export function sizeFromEnvironment(): { readonly size: ClusterSize; readonly project: string } {
  const env = loadConfig(schema);
  const size = { stripes: env.STRIPES, services: env.SERVICES, proxies: env.PROXIES, checkers: env.CHECKERS };
  return { size, project: env.PROJECT };
}
