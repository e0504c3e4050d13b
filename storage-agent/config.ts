// Config of a process that hosts one or several storage agents: a JSON file named by AGENTS_CONFIG.
import { readFileSync } from "node:fs";
import { z } from "zod";
import { serverNameSchema } from "../core/agent-wire.ts";
import { readEnv } from "../runtime/env.ts";

const port = z.int().min(1).max(65_535);
const account = z.strictObject({ user: z.string().min(1).max(32), password: z.string().min(1) });
const absolutePath = z.string().regex(/^\//, "an absolute path");

/** A MySQL server of the same triple, as replicas and clones connect to it. */
const peerSchema = z.strictObject({ name: serverNameSchema, host: z.string().min(1), port });

const superviseSchema = z.strictObject({
  /** Full argv of mysqld, a loader in front of it included. */
  command: z.array(z.string().min(1)).min(1),
  logFile: absolutePath,
  /** Written by the agent: pid and start time, to find the living mysqld again after the agent's own restart. */
  pidFile: absolutePath,
  /** Pristine data directory to copy when `dataDir` is missing or its clone broke off; null = a person does that. */
  templateDataDir: absolutePath.nullable().default(null),
});

const accountsSchema = z.strictObject({
  /** Changes roles. Used by nothing and nobody else: every other session of it is killed in a sweep. */
  agent: account,
  /** Reads and beats; has no administrative privilege, so read_only holds for it. */
  watch: account,
  /** One account per server of the triple: `<userPrefix><letter of the connecting server>`. */
  replication: z.strictObject({ userPrefix: z.string().min(1).max(24).default("repl_"), password: z.string().min(1) }),
  clone: account,
});

export const agentServerConfigSchema = z
  .strictObject({
    stripe: z.int().min(1).max(9999),
    tripleId: z.string().min(1).max(64),
    name: serverNameSchema,
    /** Where the agent's HTTP listens. */
    host: z.string().min(1),
    port,
    mysql: z.strictObject({
      /** Address that replicas and clients connect to. */
      host: z.string().min(1),
      port,
      /** Address of the administrative listener, which max_connections does not bound; used by the agent alone. */
      adminHost: z.string().min(1),
      adminPort: port,
      socket: absolutePath.nullable().default(null),
    }),
    dataDir: absolutePath,
    stateFile: absolutePath,
    /** Errant transactions are kept here before their data is replaced. */
    archiveDir: absolutePath,
    /**
     * Null: mysqld belongs to somebody else (a container, which starts it again whenever it ends); then kills are
     * SHUTDOWNs and restarts are waited for. `dataDir` must be its data directory all the same.
     */
    supervise: superviseSchema.nullable(),
    /** SOURCE_BIND of the receiver; null = the system chooses. */
    bindAddress: z.string().min(1).nullable().default(null),
    /** TLS between the servers; without it the password still travels RSA-encrypted. */
    replicationTls: z.boolean().default(false),
    accounts: accountsSchema,
    peers: z.array(peerSchema).max(8),
    /** Null: there is no mysqlbinlog here; errant transactions are kept as the log files that hold them. */
    mysqlbinlogCommand: z.array(z.string().min(1)).min(1).nullable(),
    /** Replicas do not fsync each commit (sync_binlog=0, innodb_flush_log_at_trx_commit=2); sources always do. */
    relaxedReplicas: z.boolean().default(true),
    /** `/reader` says no when the newest applied beat is older. */
    readerLagMaxMs: z.int().min(100).default(10_000),
    beatIntervalMs: z.int().min(50).max(5_000).default(250),
    watchIntervalMs: z.int().min(50).max(5_000).default(250),
    /** Bearer token that commands must carry; null = the network is trusted. */
    apiToken: z.string().min(16).nullable().default(null),
  })
  .superRefine((config, context) => {
    const names = new Set([config.name, ...config.peers.map((peer) => peer.name)]);
    if (names.size !== config.peers.length + 1) {
      context.addIssue({ code: "custom", path: ["peers"], message: "the names of a triple's servers must differ" });
    }
    const letters = new Set([...names].map((name) => name.slice(-1)));
    if (letters.size !== names.size) {
      context.addIssue({ code: "custom", path: ["peers"], message: "the letters of a triple's servers must differ" });
    }
  });

/** What the file says, before defaults: the type for whoever writes the file. */
export type AgentServerConfigInput = z.input<typeof agentServerConfigSchema>;
export type AgentServerConfig = Readonly<z.output<typeof agentServerConfigSchema>>;

export const agentsConfigSchema = z.strictObject({ servers: z.array(agentServerConfigSchema).min(1).max(64) });
export type AgentsConfigInput = z.input<typeof agentsConfigSchema>;

/**
 * Reads and validates the file that AGENTS_CONFIG names.
 * @throws Error naming the file and every bad field
 */
export function loadAgentsConfig(): readonly AgentServerConfig[] {
  const path = readEnv("AGENTS_CONFIG");
  if (path === undefined) throw new Error("AGENTS_CONFIG must name the JSON file that describes the agents");
  let raw: unknown;
  try {
    raw = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`cannot read ${path}`, { cause: error });
  }
  const parsed = agentsConfigSchema.safeParse(raw);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((i) => `  ${i.path.join(".") || "(file)"}: ${i.message}`).join("\n");
    throw new Error(`bad configuration in ${path}:\n${issues}`);
  }
  return parsed.data.servers;
}
