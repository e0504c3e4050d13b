// The HTTP interface of a storage agent (the process beside each MySQL server, sole changer of its server's replication
// role). A controller sends commands under an epoch; the agent refuses what is older than the newest epoch it has heard.
//
//   POST /agent/v1/commands   CommandRequest → CommandReply (200 done, 409 refused, 503 not possible now, 500 failed)
//   GET  /agent/v1/observe    → AgentState; changes nothing, takes no lock, answers within ~2 s even when mysqld hangs
//   GET  /agent/v1/hold-ups   → HoldUps; what would hold up an orderly closing now
//   POST /agent/v1/shutdown   orderly stop of mysqld and of its supervision; not epoch-bound (end of the day)
//   GET  /writer, /reader     200 or 503 with a word of text, for HAProxy; neither is a safety mechanism
//   GET  /healthz
import { z } from "zod";

export const AGENT_COMMANDS_PATH = "/agent/v1/commands";
export const AGENT_OBSERVE_PATH = "/agent/v1/observe";
export const AGENT_SHUTDOWN_PATH = "/agent/v1/shutdown";
export const AGENT_HOLD_UPS_PATH = "/agent/v1/hold-ups";
export const AGENT_FAULTS_PATH = "/agent/v1/faults";

/** Longest body that an agent or its client reads; GTID sets of old triples are a few kilobytes. */
export const AGENT_BODY_BYTES_MAX = 256 * 1024;
const GTID_SET_CHARS_MAX = 64 * 1024;

/** A server of a triple: unique in the cluster, last character its letter in the triple, as in `s1a`. */
export const serverNameSchema = z.string().regex(/^[a-z][a-z0-9_-]{0,30}[a-z]$/, "a server name such as s1a");
export const serverUuidSchema = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
export const epochSchema = z.int().min(0);
/** A GTID set as MySQL writes it, without white space; empty for the empty set. */
export const gtidSetSchema = z
  .string()
  .max(GTID_SET_CHARS_MAX)
  .regex(/^[0-9A-Za-z:,_-]*$/);

/** The letter of a server in its triple: its replication account is `repl_<letter>`. */
export function serverLetter(serverName: string): string {
  return serverName.slice(-1);
}

// ---------------------------------------------------------------- state

/** The agent's file: fsynced before the SQL it belongs to and before any reply. */
export const agentFileSchema = z.object({
  epoch: epochSchema,
  /** Random, made new whenever the data is replaced; also kept inside the data directory. */
  dataId: z.string(),
  data: z.enum(["VALID", "VOID"]),
  /** Epoch of the last `prepare`; 0 when this data was never a source's. Kept after a revoke. */
  openEpoch: epochSchema,
  followTenure: epochSchema,
  followSource: z.string().nullable(),
  /** A revoke was accepted since the last `prepare`: `/writer` says no. */
  revoked: z.boolean(),
  /** Boot of the machine under which the data was written with relaxed flushing; null when all of it was forced to disk. */
  relaxedBootId: z.string().nullable(),
});
export type AgentFile = z.infer<typeof agentFileSchema>;

/**
 * closed: super_read_only, receiver stopped and not armed (a source that was just revoked is disarmed within a second,
 * before its next command). follower: super_read_only, receiver started or
 * armed. prepared: source-armed, read_only still on. open: source-armed and writable. other: anything else (a command
 * that broke off half-way). down: mysqld does not answer.
 */
export const roleSchema = z.enum(["closed", "follower", "prepared", "open", "other", "down"]);
export type ServerRole = z.infer<typeof roleSchema>;

export const receiverSchema = z.object({
  /** Replica_IO_Running. "Connecting" is not receiving. */
  io: z.enum(["Yes", "No", "Connecting"]),
  applierRunning: z.boolean(),
  sourceHost: z.string(),
  sourcePort: z.int(),
  /** Empty until the receiver has connected to this source. */
  sourceUuid: z.string(),
  heartbeats: z.number(),
  /** io = Yes, and a heartbeat or an event has arrived within the last 1.5 s (monotonic clock of this agent). */
  receiving: z.boolean(),
  /** Milliseconds since the last heartbeat or event; null when none was seen. */
  lastProgressAgeMs: z.number().nullable(),
  ioErrno: z.int(),
  ioError: z.string(),
  applierErrno: z.int(),
  applierError: z.string(),
});
export type ReceiverState = z.infer<typeof receiverSchema>;

export const dumpThreadSchema = z.object({ id: z.number(), user: z.string(), host: z.string() });

/** What mysqld itself says. */
export const mysqlStateSchema = z.object({
  serverUuid: z.string(),
  /** gtid_executed. A write that waits for its acknowledgement is in no set. */
  executed: gtidSetSchema,
  /** Retrieved_Gtid_Set; empty without a channel. S(server) is the union of both. */
  retrieved: gtidSetSchema,
  readOnly: z.boolean(),
  superReadOnly: z.boolean(),
  sourceArmed: z.boolean(),
  replicaArmed: z.boolean(),
  /** Writable by somebody, not closed since: may hold pending writes that no query shows. */
  stained: z.boolean(),
  /** Sessions that wait for an acknowledgement now. */
  waitSessions: z.number(),
  /** Commits that were acknowledged by no replica / times semi-sync was switched off; must never move on a source. */
  noTx: z.number(),
  noTimes: z.number(),
  /** Null when no channel is configured. */
  receiver: receiverSchema.nullable(),
  /** Receivers of others that are connected here; read on a source-armed server only. */
  dumpThreads: z.array(dumpThreadSchema),
  /** Replication accounts that may connect here, such as `repl_b`. */
  unlockedAccounts: z.array(z.string()),
  relaxed: z.boolean(),
});
export type MysqlState = z.infer<typeof mysqlStateSchema>;

export const beatStateSchema = z.object({
  /** Writes of this agent's beat that committed since it began. */
  written: z.number(),
  /** Milliseconds since the last beat committed; null before the first. */
  lastOkAgeMs: z.number().nullable(),
  /** Milliseconds that the beat in flight has waited; null when none is. */
  pendingMs: z.number().nullable(),
  /** Failing or waiting for longer than its watch of 1.5 s. */
  hangs: z.boolean(),
  lastError: z.string().nullable(),
});

/** Of the file system below the data directory. */
export const diskSpaceSchema = z.object({ freeBytes: z.number(), totalBytes: z.number() });
export type DiskSpace = z.infer<typeof diskSpaceSchema>;

export const agentStateSchema = z.object({
  server: serverNameSchema,
  stripe: z.int(),
  tripleId: z.string(),
  /** Random per agent process start. */
  agentRunId: z.string(),
  /** Null: no file, or unreadable (then the data counts as VOID). */
  file: agentFileSchema.nullable(),
  /** The judgement that commands obey: VOID also when there is no file or the data directory is another one. */
  data: z.enum(["VALID", "VOID"]),
  /** Why VOID; null when VALID. */
  voidReason: z.string().nullable(),
  /** VOID only because nothing was ever here: no file, no GTID, no stripe schema. `initialise` is possible. */
  pristine: z.boolean(),
  role: roleSchema,
  process: z.object({
    supervised: z.boolean(),
    pid: z.int().nullable(),
    /** mysqld starts since the agent began to supervise; a change means "was restarted". */
    starts: z.int(),
    running: z.boolean().nullable(),
  }),
  /** Null when mysqld does not answer; `mysqlError` says how. */
  mysql: mysqlStateSchema.nullable(),
  mysqlError: z.string().nullable(),
  /** Beat of an open source; null elsewhere. */
  beat: beatStateSchema.nullable(),
  /** Age of the newest beat applied here, by this server's clock; null when none was ever applied. */
  lagMs: z.number().nullable(),
  /** Null: not known (yet). */
  disk: diskSpaceSchema.nullable().default(null),
  /** Violations of the runtime assertions A7 and A8: stop acting on this triple and page a person. */
  alarms: z.array(z.string()),
  /** The command that holds the lock now. */
  busy: z.object({ command: z.string(), commandId: z.string(), epoch: epochSchema, sinceMs: z.number() }).nullable(),
});
export type AgentState = z.infer<typeof agentStateSchema>;

/** A session that a graceful revoke would have to wait for, or could not wait for. */
export const holdUpSchema = z.object({
  session: z.int(),
  user: z.string(),
  what: z.enum(["transaction", "schema change"]),
  /** How long it has run; milliseconds. */
  ageMs: z.number(),
  /** Beginning of the statement that runs now; empty when none does. */
  statement: z.string(),
});
export type HoldUp = z.infer<typeof holdUpSchema>;
export const holdUpsSchema = z.object({ holdUps: z.array(holdUpSchema) });

// ---------------------------------------------------------------- commands

const names = z.array(serverNameSchema).max(8);
const empty = z.strictObject({}).default({});

const envelope = {
  commandId: z.string().min(1).max(64),
  epoch: epochSchema,
  /**
   * Run of the agent that the command is meant for, as its state told it. An agent without a file has no epoch to refuse
   * an old command by: it carries out none that does not name its present run.
   */
  agentRunId: z.string().max(64).optional(),
  /** How long the command may take in all, waiting for the lock included; the agent gives up by itself after it. */
  budgetMs: z
    .int()
    .min(1)
    .max(24 * 3_600_000),
};

export const commandRequestSchema = z.discriminatedUnion("command", [
  /** Raises the epoch and changes nothing else: "have you heard of this epoch", sets read under the lock. */
  z.strictObject({ ...envelope, command: z.literal("observe"), args: empty }),
  /**
   * Closes the server. Stained: graceful = super_read_only (STILL_OPEN when commits wait), kill = SIGKILL and start
   * closed. Not stained: the receiver is stopped, the applier goes on. A mysqld that cannot be swept is killed in
   * either mode when it is supervised.
   */
  z.strictObject({
    ...envelope,
    command: z.literal("revoke"),
    args: z.strictObject({ mode: z.enum(["graceful", "kill"]) }),
  }),
  /** Starts the applier if needed and waits until everything received is executed (step R3). Closed servers only. */
  z.strictObject({ ...envelope, command: z.literal("apply"), args: empty }),
  /** Makes the closed server a source that is not yet writable; only `followers` may connect. Applies first. */
  z.strictObject({ ...envelope, command: z.literal("prepare"), args: z.strictObject({ followers: names }) }),
  /** Makes the prepared server writable. `firstWriteCommitted` tells whether an acker was there in time. */
  z.strictObject({ ...envelope, command: z.literal("open"), args: empty }),
  /** Follows `source`, armed. `sourceSet` = S(source) as read by the caller; `sourceUuid` is verified. */
  z.strictObject({
    ...envelope,
    command: z.literal("follow"),
    args: z.strictObject({
      source: serverNameSchema,
      sourceUuid: serverUuidSchema,
      sourceSet: gtidSetSchema,
      tenure: epochSchema,
    }),
  }),
  /** On the source: lets `replica` connect. */
  z.strictObject({ ...envelope, command: z.literal("admit"), args: z.strictObject({ replica: serverNameSchema }) }),
  /** On the source: keeps `replica` out, then commits a write and answers `state.mysql.executed` read after it (G). */
  z.strictObject({ ...envelope, command: z.literal("cut"), args: z.strictObject({ replica: serverNameSchema }) }),
  /** Replaces the data by a clone of `donor`; `source` and its set decide what is archived as the errant tail. */
  z.strictObject({
    ...envelope,
    command: z.literal("rebuild-from"),
    args: z.strictObject({ donor: serverNameSchema, source: serverNameSchema, sourceSet: gtidSetSchema }),
  }),
  /** SIGKILL and start closed, for everybody. */
  z.strictObject({ ...envelope, command: z.literal("restart"), args: empty }),
  /**
   * Declares a pristine server (see AgentState.pristine) to be VALID empty data. Only for a triple that is new: all
   * three pristine. A single pristine server in a triple that has lived is a lost disk: `rebuild-from`.
   */
  z.strictObject({ ...envelope, command: z.literal("initialise"), args: empty }),
]);
export type CommandRequest = z.infer<typeof commandRequestSchema>;
export type CommandName = CommandRequest["command"];
export type CommandArgs<C extends CommandName> = Extract<CommandRequest, { command: C }>["args"];

/**
 * STALE_EPOCH: a newer epoch was heard (`fileEpoch`). VOID: only observe, initialise, rebuild-from. REFUSED: a
 * precondition of the command does not hold (`reason`). STILL_OPEN: graceful revoke while commits wait; nothing changed.
 * BUSY: another command held the lock for the whole budget. NOT_SWEPT: SQL of an earlier agent may still run.
 * MYSQLD_DOWN: no answer in time; the outcome of the SQL is unknown. MISCONFIGURED: A7 at start.
 * FAILED: SQL or its verification failed; the server is in no worse role than before, observe it.
 */
export const agentFailureCodeSchema = z.enum([
  "STALE_EPOCH",
  "VOID",
  "REFUSED",
  "STILL_OPEN",
  "BUSY",
  "NOT_SWEPT",
  "MYSQLD_DOWN",
  "MISCONFIGURED",
  "BAD_REQUEST",
  "FAILED",
]);
export type AgentFailureCode = z.infer<typeof agentFailureCodeSchema>;

export const commandReplySchema = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    commandId: z.string(),
    command: z.string(),
    epoch: epochSchema,
    /** Read after the verification, inside the lock. */
    state: agentStateSchema,
    /** `open` only: false means that the first write still waits for an acker. */
    firstWriteCommitted: z.boolean().optional(),
    /** `rebuild-from` only: file with the errant transactions, null when there were none. */
    archivedTail: z.string().nullable().optional(),
  }),
  z.object({
    ok: z.literal(false),
    commandId: z.string(),
    code: agentFailureCodeSchema,
    reason: z.string(),
    /** Newest epoch that the agent has heard; null without a file. */
    fileEpoch: epochSchema.nullable(),
  }),
]);
export type CommandReply = z.infer<typeof commandReplySchema>;
export type CommandDone = Extract<CommandReply, { ok: true }>;
export type CommandRefused = Extract<CommandReply, { ok: false }>;

// ---------------------------------------------------------------- faults (tests only)

export const faultPlaceSchema = z.enum(["after-fsync", "before-sql", "after-sql", "before-reply"]);
export type FaultPlace = z.infer<typeof faultPlaceSchema>;

/** Arms one fault point; `off` disarms it and lets a held command go on. */
export const faultRequestSchema = z.strictObject({
  command: z.string(),
  place: faultPlaceSchema,
  mode: z.enum(["crash", "hold", "off"]),
});
export type FaultRequest = z.infer<typeof faultRequestSchema>;
