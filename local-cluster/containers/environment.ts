import { z } from "zod";
import { loadConfig } from "../../runtime/env.ts";
import { COMPOSE_STRIPES, type ContainerSize } from "./plan.ts";

const count = (max: number) => z.coerce.number().int().min(1).max(max);

const schema = z.object({
  STRIPES: count(COMPOSE_STRIPES).default(COMPOSE_STRIPES),
  PROXIES: count(2).default(2),
  CHECKERS: count(2).default(2),
});

/** How large a cluster the set-up shall prepare, from the environment. */
export function sizeFromEnvironment(): ContainerSize {
  const env = loadConfig(schema);
  return { stripes: env.STRIPES, proxies: env.PROXIES, checkers: env.CHECKERS };
}
