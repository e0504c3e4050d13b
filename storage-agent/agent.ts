// The process beside one MySQL server and the only one that changes its replication role. Never restores a role by
// itself: after any restart, mysqld's or its own, the server is what mysqld's start options make it, closed.
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { Server } from "node:http";
import type { AgentState, CommandReply, CommandRequest, FaultRequest, HoldUp } from "../core/agent-wire.ts";
import type { Logger } from "../runtime/logger.ts";
import { Beat } from "./beat.ts";
import type { AgentServerConfig } from "./config.ts";
import type { AgentParts } from "./context.ts";
import { DiskWatch } from "./disk-space.ts";
import { Executor } from "./executor.ts";
import { Faults } from "./faults.ts";
import { readerHealth, writerHealth } from "./health.ts";
import { readHoldUps } from "./db/hold-ups.ts";
import { closeAgentServer, listenAgent } from "./http.ts";
import type { AgentEndpoints, Health } from "./http.ts";
import { observedState } from "./observed-state.ts";
import type { RawState } from "./db/read-state.ts";
import { roleOf } from "./role.ts";
import { RoleSessions } from "./role-sessions.ts";
import { Session } from "./db/session.ts";
import { SourceAlarms } from "./source-alarms.ts";
import { StateFile } from "./state-file.ts";
import { Supervisor } from "./supervisor.ts";
import { Watcher } from "./watcher.ts";
import type { Look } from "./watcher.ts";

const SHUTDOWN_MAX_MS = 15_000;

export interface AgentOptions {
  readonly logger: Logger;
  /** Accept POST /agent/v1/faults. */
  readonly faultPoints: boolean;
  /** Text for GET /metrics, on one agent of the process. */
  readonly metrics?: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Told of every command that was answered. */
  readonly onReply?: (command: string, reply: CommandReply) => void;
}

export class StorageAgent implements AgentEndpoints, AsyncDisposable {
  readonly config: AgentServerConfig;
  readonly #options: AgentOptions;
  readonly #parts: AgentParts;
  readonly #executor: Executor;
  readonly #alarms: SourceAlarms;
  readonly #runId = randomUUID();
  #server: Server | null = null;
  /** Settled when it is known whether mysqld runs: before that, no command may take it for gone. */
  #supervised: Promise<void> = Promise.resolve();
  #answeredBefore = false;

  private constructor(config: AgentServerConfig, options: AgentOptions) {
    const logger = options.logger.child({ server: config.name, stripe: config.stripe });
    const { supervise, dataDir } = config;
    const state = new StateFile(config.stateFile, dataDir);
    const judge = (): Promise<unknown> => state.judge();
    this.config = config;
    this.#options = options;
    this.#parts = {
      config,
      logger,
      state,
      supervisor: supervise === null ? null : new Supervisor(supervise, dataDir, logger, judge),
      sessions: new RoleSessions(config, logger),
      watcher: new Watcher(config),
      beat: new Beat(config),
      disk: new DiskWatch(config.dataDir),
      faults: new Faults(options.faultPoints),
      told: { replicas: null, drainUntilMs: -Infinity },
    };
    this.#executor = new Executor(this.#parts, this.#runId, (raw) => this.#state(raw, null));
    this.#alarms = new SourceAlarms(this.#parts);
    this.#parts.watcher.onLook = (look) => this.#onLook(look);
  }

  static create(config: AgentServerConfig, options: AgentOptions): StorageAgent {
    return new StorageAgent(config, options);
  }

  /** Listens, finds or starts mysqld; does not wait until mysqld answers. */
  async start(): Promise<void> {
    const { state, supervisor, watcher } = this.#parts;
    const { host, port, apiToken } = this.config;
    await mkdir(this.config.archiveDir, { recursive: true });
    await state.load();
    const supervised = Promise.withResolvers<void>();
    this.#supervised = supervised.promise;
    try {
      // Listening comes first: a second agent of the same server ends here, and starts no second mysqld.
      this.#server = await listenAgent(this, { host, port, apiToken });
      await supervisor?.start();
    } finally {
      supervised.resolve();
    }
    watcher.start();
  }

  /** Stops the agent; mysqld lives on, in its role. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { beat, watcher, supervisor, sessions } = this.#parts;
    beat.stop();
    if (this.#server) await closeAgentServer(this.#server);
    await watcher.stop();
    await supervisor?.release();
    sessions.close();
  }

  async observe(): Promise<AgentState> {
    const { raw, error } = await this.#parts.watcher.fresh();
    return this.#state(raw, error);
  }

  async command(request: CommandRequest): Promise<CommandReply> {
    await this.#supervised;
    const reply = await this.#executor.execute(request);
    this.#parts.watcher.changed();
    void this.#parts.watcher.look(); // /writer and /reader follow at once
    this.#options.onReply?.(request.command, reply);
    return reply;
  }

  async holdUps(): Promise<readonly HoldUp[]> {
    const { adminHost: host, adminPort: port } = this.config.mysql;
    const session = await Session.open({ host, port, ...this.config.accounts.watch });
    try {
      return await readHoldUps(session);
    } finally {
      session.destroy();
    }
  }

  async shutDown(): Promise<Health> {
    const { supervisor, beat, sessions } = this.#parts;
    if (supervisor === null) return { ok: false, text: "mysqld is not supervised by this agent" };
    await this.#supervised;
    beat.stop();
    sessions.close();
    await supervisor.shutDown(SHUTDOWN_MAX_MS);
    return { ok: true, text: "mysqld has stopped" };
  }

  fault(request: FaultRequest): boolean {
    const { faults } = this.#parts;
    if (faults.enabled) faults.arm(request);
    return faults.enabled;
  }

  writer(): Health {
    return writerHealth(this.#parts);
  }

  reader(): Health {
    return readerHealth(this.#parts);
  }

  metrics(): Promise<{ readonly contentType: string; readonly text: string }> | null {
    return this.#options.metrics?.() ?? null;
  }

  /** Role as last seen, for metrics. */
  get role(): string {
    return roleOf(this.#parts.watcher.last.raw?.mysql ?? null);
  }

  #state(raw: RawState | null, error: string | null): AgentState {
    return observedState(this.#parts, raw, error, {
      agentRunId: this.#runId,
      busy: this.#executor.busy,
      alarms: [...this.#parts.sessions.wrongSettings, ...this.#alarms.alarms],
    });
  }

  #onLook({ raw }: Look): void {
    const { beat, state, logger } = this.#parts;
    this.#alarms.look(raw);
    const back = raw !== null && !this.#answeredBefore;
    this.#answeredBefore = raw !== null;
    if (raw === null) return; // a beat in flight goes on telling how long it has waited
    if (back && this.#executor.busy === null) {
      state.judge().catch((error: unknown) => logger.error({ err: error }, "the data could not be judged"));
    }
    const { file } = state;
    const reigns = roleOf(raw.mysql) === "open" && file !== null && file.openEpoch > 0 && !file.revoked;
    if (!reigns) return beat.stop();
    beat.start();
    beat.receiversAre(raw.mysql.dumpThreads.map(({ id }) => id).join());
  }
}
