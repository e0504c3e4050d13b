// The containers that serve: HAProxy and services of each stripe, the proxies behind theirs, health checkers and ops;
// and the one-time steps between.
import type { ClusterPlan, ServerPlan, StripePlan } from "../plan.ts";
import { checkerEnv, opsEnv, proxyEnv, serviceEnv, type SettingsOf, SMALL_HEAP } from "../settings.ts";
import { toBeCompared } from "./environment.ts";
import { ALL_SECRETS_DIR, CACHE_DIR, FILES, READERS, SECRETS_DIR } from "./places.ts";
import { HTTP_PORT, OPS_PORT } from "./plan.ts";
import { HAPROXY_ALIVE_PORT } from "./config-files.ts";
import { type ContainerSpec, DONE, HEALTHY, STARTED } from "./spec.ts";
import { healthyCheck, SECRETS_VOLUME, secretsOf } from "./storage-specs.ts";

const STEPS = "local-cluster/containers/main.ts";
const ROUTING_TABLE = "routing-table.json";
const CHECKERS_ALL = "http://checker-1:8080,http://checker-2:8080";

const ownBasics = { image: "own", tmpfs: ["/tmp"], pids: 64 } as const;

/** Settings in containers: passwords are files, the copy of the routing table has a volume of its own. */
export function containerSettings(plan: ClusterPlan): SettingsOf {
  return {
    plan,
    secret: (variable, account) => ({ [`${variable}_FILE`]: `${SECRETS_DIR}/${account}` }),
    cacheFile: () => `${CACHE_DIR}/${ROUTING_TABLE}`,
  };
}

/** Writes secrets and configuration; the only one that sees all of them, and it has no network. */
export function setUpSpec(): ContainerSpec {
  return {
    ...ownBasics,
    name: "set-up",
    user: "0:0",
    capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
    command: [STEPS, "set-up"],
    env: {
      STRIPES: "${STRIPES:-3}",
      PROXIES: "${PROXIES:-2}",
      CHECKERS: "${CHECKERS:-2}",
      ...toBeCompared(CHECKERS_ALL),
    },
    networks: [],
    mounts: [{ source: SECRETS_VOLUME, target: ALL_SECRETS_DIR }],
    memoryMb: 256,
    once: true,
  };
}

/** Brings the control database, later the stripes, to the image's schema. */
export function stepSpec(name: "control-schema" | "stripes", after: ContainerSpec["after"]): ContainerSpec {
  return {
    ...ownBasics,
    name,
    command: [STEPS, name],
    networks: ["inside"],
    mounts: [secretsOf(READERS.steps)],
    memoryMb: 256,
    once: true,
    ...(after === undefined ? {} : { after }),
  };
}

/** Of the HAProxy image, which has none of our files: a GET is answered with 200. */
function answersCheck(port: number, path: string): NonNullable<ContainerSpec["healthCheck"]> {
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET ${path} HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3`;
  const look = `read -r -t 2 line <&3 && [[ $$line == *\\ 200* ]]`;
  return { test: ["CMD", "bash", "-c", `${ask} && ${look}`], intervalS: 10, startPeriodS: 60 };
}

function haproxySpec(name: string, networks: ContainerSpec["networks"], told: string): ContainerSpec {
  return {
    name,
    image: "haproxy",
    command: ["haproxy", "-db", "-f", `${SECRETS_DIR}/${FILES.haproxy}`],
    networks,
    mounts: [secretsOf(name)],
    tmpfs: ["/tmp"],
    memoryMb: 128,
    pids: 64,
    healthCheck: answersCheck(HAPROXY_ALIVE_PORT, "/"),
    stopSignal: "SIGUSR1",
    told,
    after: { "set-up": DONE },
  };
}

/** The HAProxy in front of the proxies: the one address that merchants know. */
export function entrySpec(told: string): ContainerSpec {
  return {
    ...haproxySpec("entry", ["merchants"], `${told}-\${PROXIES:-2}`),
    publish: ["127.0.0.1:${PORT:-8080}:8080"],
    healthCheck: answersCheck(HTTP_PORT, "/readyz"),
    after: { "proxy-1": HEALTHY, "proxy-2": HEALTHY },
  };
}

export function serviceSpec(settings: SettingsOf, stripe: StripePlan): ContainerSpec {
  const [instance] = stripe.services;
  if (instance === undefined) throw new Error("a stripe has at least one service");
  // Instances share this description, so each keeps its copy of the table for itself, and only while it lives.
  const cache = { ...settings, cacheFile: () => `/tmp/${ROUTING_TABLE}` };
  return {
    ...ownBasics,
    name: instance.name,
    command: ["stripe-service/main.ts"],
    env: serviceEnv(cache, stripe, instance),
    networks: ["inside"],
    mounts: [secretsOf(READERS.service)],
    memoryMb: 384,
    healthCheck: healthyCheck(HTTP_PORT, "/readyz"),
    after: { stripes: DONE, [stripe.haproxyName]: HEALTHY },
    scale: instancesOf(stripe.stripe, "SERVICES"),
    alike: true,
  };
}

export function proxySpecs(settings: SettingsOf): ContainerSpec[] {
  return settings.plan.proxies.map((proxy) => ({
    ...ownBasics,
    name: proxy.name,
    command: ["proxy/main.ts"],
    env: { ...proxyEnv(settings, proxy), HEALTH_CHECKER_URLS: `\${CHECKER_URLS:-${CHECKERS_ALL}}` },
    networks: ["merchants", "inside"] as const,
    mounts: [secretsOf(READERS.proxy), { source: `${proxy.name}-cache`, target: CACHE_DIR, filled: true }],
    memoryMb: 384,
    healthCheck: healthyCheck(HTTP_PORT, "/readyz"),
    after: { stripes: DONE },
    ...secondOnly(proxy.name),
  }));
}

export function checkerSpecs(settings: SettingsOf, told: string): ContainerSpec[] {
  const agents = startedFirst(settings.plan.stripes.flatMap(({ servers }) => servers));
  return settings.plan.checkers.map((checker) => ({
    ...ownBasics,
    name: checker.name,
    command: [...SMALL_HEAP, "health-checker/main.ts"],
    env: {
      ...checkerEnv(settings, checker, `${SECRETS_DIR}/${FILES.triples}`),
      AGENT_API_TOKEN_FILE: `${SECRETS_DIR}/${FILES.agentToken}`,
    },
    networks: ["inside", "storage"] as const,
    mounts: [secretsOf(READERS.checker), { source: `${checker.name}-cache`, target: CACHE_DIR, filled: true }],
    memoryMb: 224,
    healthCheck: healthyCheck(HTTP_PORT, "/healthz"),
    told: `${told}-\${STRIPES:-3}`,
    after: { "control-schema": DONE, ...agents },
    ...secondOnly(checker.name),
  }));
}

/** For operators, at the machine itself: its API has no authentication. */
export function opsSpec(settings: SettingsOf): ContainerSpec {
  return {
    ...ownBasics,
    name: "ops",
    command: ["ops/main.ts"],
    env: {
      ...opsEnv(settings),
      HEALTH_CHECKER_URLS: `\${CHECKER_URLS:-${CHECKERS_ALL}}`,
      OPS_NETWORK_TRUSTED: "1",
    },
    networks: ["operators", "inside"],
    mounts: [secretsOf(READERS.ops)],
    memoryMb: 256,
    healthCheck: healthyCheck(OPS_PORT, "/readyz"),
    after: { stripes: DONE },
    publish: ["127.0.0.1:${OPS_PORT:-8090}:8090"],
  };
}

/** Plays the demo inside: `npm run demo -- --compose`. */
export function demoSpec(): ContainerSpec {
  return {
    ...ownBasics,
    name: "demo",
    command: [STEPS, "demo"],
    networks: ["merchants", "storage"],
    mounts: [secretsOf(READERS.demo)],
    memoryMb: 512,
    once: true,
    profile: "demo",
  };
}

/** Two of them share a name: a session that is lost with one is made again with the other. */
export function stripeHaproxySpec({ stripe, haproxyName, servers }: StripePlan, told: string): ContainerSpec {
  const spec = haproxySpec(haproxyName, ["inside", "storage"], told);
  const after = { ...spec.after, ...startedFirst(servers) };
  return { ...spec, after, scale: instancesOf(stripe, "HAPROXIES"), alike: true };
}

/**
 * Who looks at agents is started after them, and so stopped before them: a stop in order is no outage to act on.
 */
function startedFirst(servers: readonly ServerPlan[]): NonNullable<ContainerSpec["after"]> {
  return Object.fromEntries(servers.map(({ agentHost }) => [agentHost, STARTED]));
}

/** How many instances of a kind each stripe has; an env file may leave out every stripe but the first. */
function instancesOf(stripe: number, variable: "SERVICES" | "HAPROXIES"): string {
  const count = `\${${variable}:-2}`;
  return stripe === 1 ? count : `\${STRIPE_${stripe}_${variable}:-${count}}`;
}

/** An env file may leave out the second of a pair. */
function secondOnly(name: string): { readonly scale?: string } {
  return name.endsWith("-1") ? {} : { scale: "${SECOND:-1}" };
}
