// What each process of a cluster is told in its environment, the same on one machine and in containers: only names,
// ports and the way to secrets differ, and those come from the plan.
import type { ClusterPlan, InstancePlan, StripePlan } from "./plan.ts";
import { PLACE } from "./plan.ts";
import type { AccountName } from "./secrets.ts";

/** For processes that do little and often: a small young generation keeps their memory near what they use. */
export const SMALL_HEAP = ["--max-semi-space-size=1", "--max-old-space-size=128"] as const;

const LOG_LEVEL = "info";

export interface SettingsOf {
  readonly plan: ClusterPlan;
  /** How a process learns a password: the variable with it, or the one that names its file. */
  readonly secret: (variable: string, account: AccountName) => Record<string, string>;
  /** Where a process keeps its copy of the routing table. */
  readonly cacheFile: (process_: string) => string;
}

type Env = Record<string, string>;

/** Where the control database is, as every process that uses it is told. */
export function controlEnv({ plan, secret }: SettingsOf): Env {
  return {
    CONTROL_DB_HOST: plan.control.host,
    CONTROL_DB_PORT: String(plan.control.port),
    CONTROL_DB_USER: "control",
    ...secret("CONTROL_DB_PASSWORD", "control"),
    CONTROL_DB_NAME: "control",
  };
}

export function serviceEnv(settings: SettingsOf, stripe: StripePlan, instance: InstancePlan): Env {
  return {
    ...listenEnv(settings, instance),
    STRIPE: String(stripe.stripe),
    PLACE: String(PLACE),
    INSTANCE: instance.name,
    DB_WRITER_HOST: stripe.haproxyHost,
    DB_WRITER_PORT: String(stripe.writerPort),
    DB_READER_HOST: stripe.haproxyHost,
    DB_READER_PORT: String(stripe.readerPort),
    DB_USER: "app",
    ...settings.secret("DB_PASSWORD", "app"),
    ...controlEnv(settings),
    ROUTING_CACHE_FILE: settings.cacheFile(`service-${instance.name}`),
  };
}

export function proxyEnv(settings: SettingsOf, proxy: InstancePlan): Env {
  return {
    ...listenEnv(settings, proxy),
    ...controlEnv(settings),
    ROUTING_CACHE_FILE: settings.cacheFile(proxy.name),
    HEALTH_CHECKER_URLS: checkerUrls(settings.plan),
  };
}

export function opsEnv(settings: SettingsOf): Env {
  const { plan } = settings;
  return { ...listenEnv(settings, plan.ops), HEALTH_CHECKER_URLS: checkerUrls(plan), ...controlEnv(settings) };
}

/** @param triplesFile what the checkers are told of the triples */
export function checkerEnv(settings: SettingsOf, checker: InstancePlan, triplesFile: string): Env {
  return {
    ...listenEnv(settings, checker),
    INSTANCE: checker.name,
    ...controlEnv(settings),
    TRIPLES_CONFIG: triplesFile,
    ROUTING_CACHE_FILE: settings.cacheFile(checker.name),
  };
}

function listenEnv({ plan }: SettingsOf, { port }: InstancePlan): Env {
  return { HOST: plan.listenHost, PORT: String(port), LOG_LEVEL };
}

function checkerUrls({ checkers }: ClusterPlan): string {
  return checkers.map(({ url }) => url).join(",");
}
