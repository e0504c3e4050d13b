// Carries out one command: lock, epoch check, file, SQL, verification, reply. A repeated command is executed again,
// never answered from memory.
import type { AgentState, CommandReply, CommandRequest } from "../core/agent-wire.ts";
import { Deadline, monotonicMs } from "../runtime/clock.ts";
import { admit, cut } from "./commands/admit-cut.ts";
import { apply } from "./commands/apply.ts";
import { follow } from "./commands/follow.ts";
import { initialise } from "./commands/initialise.ts";
import { open } from "./commands/open.ts";
import { prepare } from "./commands/prepare.ts";
import { rebuildFrom } from "./commands/rebuild-from.ts";
import { restart } from "./commands/restart.ts";
import { revoke } from "./commands/revoke.ts";
import { CommandLock } from "./command-lock.ts";
import { Refusal } from "./context.ts";
import type { AgentParts, CommandContext, CommandExtras } from "./context.ts";
import { readState } from "./db/read-state.ts";
import { MysqldDown } from "./db/session.ts";
import { NotSwept } from "./db/sweep.ts";
import type { Busy } from "./observed-state.ts";
import type { RawState } from "./db/read-state.ts";

/** What takes a role away is always carried out; its reply says MISCONFIGURED then, and so never counts as read. */
const ON_WRONG_SETTINGS = new Set<CommandRequest["command"]>(["observe", "revoke"]);
const WITHOUT_VALID_DATA = new Set<CommandRequest["command"]>(["observe", "initialise", "rebuild-from"]);

export class Executor {
  readonly #parts: AgentParts;
  readonly #runId: string;
  readonly #lock = new CommandLock();
  readonly #toState: (raw: RawState) => AgentState;
  #busy: Busy | null = null;

  /** @param runId of this run of the agent; @param toState builds the state of a reply from what was read inside the lock */
  constructor(parts: AgentParts, runId: string, toState: (raw: RawState) => AgentState) {
    this.#parts = parts;
    this.#runId = runId;
    this.#toState = toState;
  }

  get busy(): Busy | null {
    return this.#busy;
  }

  /** Never rejects: what goes wrong is the reply. */
  async execute(request: CommandRequest): Promise<CommandReply> {
    const deadline = new Deadline(request.budgetMs);
    if (!(await this.#lock.acquire(deadline)))
      return this.#failure(request, new Refusal("BUSY", "another command runs"));
    const { command, commandId, epoch } = request;
    this.#busy = { command, commandId, epoch, sinceMs: monotonicMs() };
    let afterReply: CommandExtras["afterReply"];
    try {
      const { reply, extras } = await this.#executeLocked(request, deadline);
      afterReply = extras.afterReply;
      return reply;
    } catch (error) {
      return this.#failure(request, error);
    } finally {
      void this.#finish(request, afterReply);
    }
  }

  async #finish(request: CommandRequest, afterReply: CommandExtras["afterReply"]): Promise<void> {
    try {
      await afterReply?.();
    } catch (error) {
      this.#parts.logger.error({ err: error, command: request.command }, "what was left to do after the reply failed");
    } finally {
      this.#busy = null;
      this.#lock.release();
    }
  }

  async #executeLocked(
    request: CommandRequest,
    deadline: Deadline,
  ): Promise<{ reply: CommandReply; extras: CommandExtras }> {
    const { sessions, faults, config, watcher, state } = this.#parts;
    const { command, commandId, epoch } = request;
    const wasRevoked = state.file?.revoked ?? true;
    await this.#accept(request);
    await faults.at(command, "after-fsync");
    const context: CommandContext = {
      ...this.#parts,
      epoch,
      deadline,
      wasRevoked,
      beforeSql: () => faults.at(command, "before-sql"),
    };
    const extras = await run(context, request);
    await faults.at(command, "after-sql");
    const session = await sessions.getWhenUp(deadline);
    const raw = watcher.withProgress(await readState(session, config.accounts.replication.userPrefix));
    const wrong = sessions.wrongSettings;
    if (wrong.length > 0 && command !== "observe") throw new Refusal("MISCONFIGURED", wrong.join("; "));
    this.#busy = null;
    const { afterReply: _, ...told } = extras;
    const reply: CommandReply = { ok: true, commandId, command, epoch, state: this.#toState(raw), ...told };
    await faults.at(command, "before-reply");
    return { reply, extras };
  }

  /** Checks that need no SQL, and the new epoch on disk. @throws Refusal */
  async #accept(request: CommandRequest): Promise<void> {
    const { state, sessions } = this.#parts;
    const { command, epoch } = request;
    if (state.file !== null && epoch < state.file.epoch) throw new Refusal("STALE_EPOCH", "a newer epoch was heard");
    const { data, reason } = await state.judge();
    if (data === "VOID" && !WITHOUT_VALID_DATA.has(command)) throw new Refusal("VOID", reason ?? "void");
    // A mysqld that gives no session now has none to be wrong about; the command itself will see to that.
    if (!ON_WRONG_SETTINGS.has(command)) await sessions.get().catch(() => null);
    if (sessions.wrongSettings.length > 0 && !ON_WRONG_SETTINGS.has(command)) {
      throw new Refusal("MISCONFIGURED", sessions.wrongSettings.join("; "));
    }
    if (command === "observe") return; // it changes nothing, nor the epoch
    if (state.file === null) {
      // No epoch is known here, so a command may be of any time; one that names this run was composed since it began.
      if (request.agentRunId === this.#runId) return; // the command makes the file
      throw new Refusal("VOID", "there is no file, and the command does not name this run of the agent");
    }
    const revokes = command === "revoke" || command === "restart";
    await state.write(revokes ? { epoch, revoked: true } : { epoch });
  }

  #failure(request: CommandRequest, error: unknown): CommandReply {
    const { logger, state } = this.#parts;
    const { command, commandId, epoch } = request;
    const reason = error instanceof Error ? error.message : String(error);
    const code = codeOf(error);
    logger.warn({ command, commandId, epoch, code, err: code === "FAILED" ? error : undefined, reason }, "not done");
    return { ok: false, commandId, code, reason, fileEpoch: state.file?.epoch ?? null };
  }
}

function codeOf(error: unknown): Extract<CommandReply, { ok: false }>["code"] {
  if (error instanceof Refusal) return error.code;
  if (error instanceof NotSwept) return "NOT_SWEPT";
  if (error instanceof MysqldDown) return "MYSQLD_DOWN";
  return "FAILED";
}

async function run(context: CommandContext, request: CommandRequest): Promise<CommandExtras> {
  switch (request.command) {
    case "observe":
      return {};
    case "revoke":
      return revoke(context, request.args);
    case "apply":
      return apply(context);
    case "prepare":
      return prepare(context, request.args);
    case "open":
      return open(context);
    case "follow":
      return follow(context, request.args);
    case "admit":
      return admit(context, request.args);
    case "cut":
      return cut(context, request.args);
    case "rebuild-from":
      return rebuildFrom(context, request.args);
    case "restart":
      return restart(context);
    case "initialise":
      return initialise(context);
  }
}
