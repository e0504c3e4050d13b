// Config of a health checker: its environment, and the triples that it looks after (TRIPLES_CONFIG).
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { serverNameSchema } from "../core/agent-wire.ts";
import { loadConfig } from "../runtime/env.ts";
import type { MysqlTarget } from "../runtime/mysql.ts";
import { PROBES_AT_ONCE_MAX } from "./verdicts/board.ts";

const port = z.coerce.number().int().min(1).max(65_535);
const flag = z
  .enum(["0", "1"])
  .default("0")
  .transform((text) => text === "1");

const envSchema = z.object({
  HOST: z.string().default("127.0.0.1"),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8090),
  /** Name of this instance in the record of the triples it leads and in the audit. */
  INSTANCE: z
    .string()
    .regex(/^[0-9A-Za-z._-]{1,32}$/)
    .default("health-checker"),
  CONTROL_DB_HOST: z.string().default("127.0.0.1"),
  CONTROL_DB_PORT: port.default(3306),
  CONTROL_DB_USER: z.string().default("control"),
  CONTROL_DB_PASSWORD: z.string().default(""),
  CONTROL_DB_NAME: z.string().default("control"),
  TRIPLES_CONFIG: z.string().min(1, "must name the JSON file that lists the triples"),
  /** Bearer token of the agents. */
  AGENT_API_TOKEN: z.string().min(16).optional(),
  /** Keeps the last routing table, so that stripes are probed without the control database too. */
  ROUTING_CACHE_FILE: z.string().optional(),
  PROBE_INTERVAL_MS: z.coerce.number().int().min(50).max(10_000).default(1_000),
  PROBE_TIMEOUT_MS: z.coerce.number().int().min(20).max(10_000).default(2_000),
  /** Tests only: POST /faults arms fault points. */
  FAULT_POINTS: flag,
  /** Triples, by id and separated by commas, whose record a person has declared lost. */
  RECORD_LOST_CONFIRMED: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((id) => id !== "")),
});

const SERVERS_OF_A_TRIPLE = 3;

const tripleSchema = z
  .strictObject({
    tripleId: z.string().min(1).max(64),
    stripe: z.int().min(1).max(9999),
    servers: z
      .array(
        z.strictObject({
          name: serverNameSchema,
          agentUrl: z.url({ protocol: /^http$/ }),
          mysql: z.strictObject({ host: z.string().min(1), port: z.int().min(1).max(65_535) }),
        }),
      )
      .length(SERVERS_OF_A_TRIPLE),
    /** Leads when nothing else decides; the first server by default. */
    preferred: serverNameSchema.optional(),
  })
  .refine(
    ({ servers }) => new Set(servers.map(({ name }) => name)).size === servers.length,
    "the names of a triple's servers must differ",
  )
  .refine(
    ({ servers, preferred }) => preferred === undefined || servers.some(({ name }) => name === preferred),
    "`preferred` must be one of the servers",
  );

const triplesSchema = z
  .strictObject({ triples: z.array(tripleSchema).max(64) })
  .refine(
    ({ triples }) => new Set(triples.map(({ tripleId }) => tripleId)).size === triples.length,
    "the ids of the triples must differ",
  );

export type TripleConfig = Readonly<z.infer<typeof tripleSchema>>;
/** What the file says: the type for whoever writes it. */
export type TriplesConfigInput = z.input<typeof triplesSchema>;

export interface HealthCheckerConfig {
  readonly host: string;
  readonly port: number;
  readonly instance: string;
  /** Unique per process start: a process never takes an earlier life of itself for itself. */
  readonly owner: string;
  readonly control: MysqlTarget;
  readonly triples: readonly TripleConfig[];
  readonly agentApiToken: string | null;
  readonly routingCacheFile: string | null;
  readonly probeIntervalMs: number;
  /** For create, query and close together. */
  readonly probeTimeoutMs: number;
  readonly faultPoints: boolean;
  readonly recordLostConfirmed: readonly string[];
}

/** @throws Error naming every bad variable or field */
export function loadHealthCheckerConfig(): HealthCheckerConfig {
  const env = loadConfig(envSchema);
  if (env.PROBE_TIMEOUT_MS > PROBES_AT_ONCE_MAX * env.PROBE_INTERVAL_MS) {
    throw new Error(`PROBE_TIMEOUT_MS must be at most ${PROBES_AT_ONCE_MAX} × PROBE_INTERVAL_MS`);
  }
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    instance: env.INSTANCE,
    owner: `${env.INSTANCE}/${randomUUID().slice(0, 8)}`,
    control: {
      host: env.CONTROL_DB_HOST,
      port: env.CONTROL_DB_PORT,
      user: env.CONTROL_DB_USER,
      password: env.CONTROL_DB_PASSWORD,
      database: env.CONTROL_DB_NAME,
    },
    triples: readTriples(env.TRIPLES_CONFIG),
    agentApiToken: env.AGENT_API_TOKEN ?? null,
    routingCacheFile: env.ROUTING_CACHE_FILE ?? null,
    probeIntervalMs: env.PROBE_INTERVAL_MS,
    probeTimeoutMs: env.PROBE_TIMEOUT_MS,
    faultPoints: env.FAULT_POINTS,
    recordLostConfirmed: env.RECORD_LOST_CONFIRMED,
  });
}

function readTriples(path: string): readonly TripleConfig[] {
  let raw: unknown;
  try {
    raw = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`cannot read TRIPLES_CONFIG ${path}`, { cause: error });
  }
  const parsed = triplesSchema.safeParse(raw);
  if (parsed.success) return parsed.data.triples;
  const issues = parsed.error.issues.map((i) => `  ${i.path.join(".") || "(file)"}: ${i.message}`).join("\n");
  throw new Error(`bad TRIPLES_CONFIG ${path}:\n${issues}`);
}

/** The triple's servers, the preferred one first. */
export function serverOrder({ servers, preferred }: TripleConfig): readonly string[] {
  const names = servers.map(({ name }) => name);
  return preferred === undefined ? names : [preferred, ...names.filter((name) => name !== preferred)];
}
