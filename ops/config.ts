import { isIPv4 } from "node:net";
import { z } from "zod";
import { loadConfig } from "../runtime/env.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import { areCheckerUrls, checkerUrls } from "../runtime/verdicts/checker-client.ts";

const port = z.coerce.number().int().min(1).max(65535);

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

const schema = z.object({
  /** Loopback only, unless the network is trusted: the ops API has no authentication yet. */
  HOST: z.string().default("127.0.0.1"),
  /** 1: whoever can reach this process may operate the cluster; so in a container, where the engine decides that. */
  OPS_NETWORK_TRUSTED: z.enum(["0", "1"]).default("0"),
  PORT: port.default(8090),
  CONTROL_DB_HOST: z.string().default("127.0.0.1"),
  CONTROL_DB_PORT: port.default(3306),
  CONTROL_DB_USER: z.string().default("control"),
  CONTROL_DB_PASSWORD: z.string().default(""),
  CONTROL_DB_NAME: z.string().default("control"),
  /** How often what the table wants is compared with what each stripe's own database says. */
  RECONCILE_INTERVAL_MS: z.coerce.number().int().min(100).default(1000),
  /** Longest wait for a stripe service; a stripe that does not answer is shown as unreachable. */
  STRIPE_TIMEOUT_MS: z.coerce.number().int().min(100).default(1500),
  /** Base URLs, separated by commas; none: no verdicts are shown. */
  HEALTH_CHECKER_URLS: z.string().default("").refine(areCheckerUrls, "must be http URLs separated by commas"),
});

export interface OpsConfig {
  readonly host: string;
  readonly port: number;
  readonly control: MysqlTarget;
  readonly reconcileIntervalMs: number;
  readonly stripeTimeoutMs: number;
  readonly checkerUrls: readonly string[];
}

/** @throws Error naming each variable that is wrong */
export function loadOpsConfig(): OpsConfig {
  const env = loadConfig(schema);
  if (!isLoopback(env.HOST) && env.OPS_NETWORK_TRUSTED !== "1") {
    throw new Error(
      "HOST must be a loopback address: the ops API has no authentication (OPS_NETWORK_TRUSTED=1 allows it)",
    );
  }
  return {
    host: env.HOST,
    port: env.PORT,
    control: {
      host: env.CONTROL_DB_HOST,
      port: env.CONTROL_DB_PORT,
      user: env.CONTROL_DB_USER,
      password: env.CONTROL_DB_PASSWORD,
      database: env.CONTROL_DB_NAME,
    },
    reconcileIntervalMs: env.RECONCILE_INTERVAL_MS,
    stripeTimeoutMs: env.STRIPE_TIMEOUT_MS,
    checkerUrls: checkerUrls(env.HEALTH_CHECKER_URLS),
  };
}
