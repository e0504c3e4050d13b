import { z } from "zod";
import { loadConfig } from "../../runtime/env.ts";
import { COMPOSE_STRIPES, type ContainerSize } from "./plan.ts";

/** What was asked for cannot be; the message is for whoever asked. */
export class Refused extends Error {}

const count = (max: number) => z.coerce.number().int().min(1).max(max);
const instances = z.coerce.number().int().min(0).max(16);

const schema = z.object({
  STRIPES: count(COMPOSE_STRIPES).default(COMPOSE_STRIPES),
  PROXIES: count(2).default(2),
  CHECKERS: count(2).default(2),
  SECOND: z.coerce.number().int().min(0).max(1).default(1),
  CHECKER_URLS: z.string().optional(),
  ...Object.fromEntries(stripeVariables().map(([name]) => [name, instances.default(1)])),
});

/** Whether a stripe's containers are there is said once for each kind of them, as compose cannot count. */
function stripeVariables(): (readonly [name: string, stripe: number])[] {
  const beyondTheFirst = Array.from({ length: COMPOSE_STRIPES - 1 }, (_, i) => i + 2);
  return beyondTheFirst.flatMap((stripe) =>
    ["", "_SERVICES", "_HAPROXIES"].map((kind) => [`STRIPE_${stripe}${kind}`, stripe] as const),
  );
}

/** Variables that the set-up is given beside those that it needs itself, with what compose takes for them. */
export function toBeCompared(checkerUrls: string): Readonly<Record<string, string>> {
  return {
    SECOND: "${SECOND:-1}",
    CHECKER_URLS: `\${CHECKER_URLS:-${checkerUrls}}`,
    ...Object.fromEntries(stripeVariables().map(([name]) => [name, `\${${name}:-1}`])),
  };
}

/**
 * How large a cluster the set-up shall prepare, from the environment.
 * @throws Refused when variables that go together say different things
 */
export function sizeFromEnvironment(): ContainerSize {
  const env = loadConfig(schema);
  const { STRIPES: stripes, PROXIES: proxies, CHECKERS: checkers, SECOND: second, CHECKER_URLS: urls } = env;
  const wrong = stripeVariables()
    .map(([name, stripe]) => [name, Number(env[name as keyof typeof env]), stripe <= stripes] as const)
    .filter(([, n, wanted]) => n > 0 !== wanted)
    .map(([name, n]) => `STRIPES=${stripes} and ${name}=${n}`);
  if (proxies !== 1 + second) wrong.push(`PROXIES=${proxies} and SECOND=${second}`);
  if (checkers !== 1 + second) wrong.push(`CHECKERS=${checkers} and SECOND=${second}`);
  const asked = urls?.split(",").length ?? checkers;
  if (asked !== checkers) wrong.push(`CHECKERS=${checkers} and CHECKER_URLS=${urls}`);
  if (wrong.length > 0) {
    throw new Refused(
      `these contradict each other: ${wrong.join("; ")}. For the small cluster take the whole of ` +
        "local-cluster/containers/small.env, for the full one none of them",
    );
  }
  return { stripes, proxies, checkers };
}
