// One recovery under way. Its compare-and-sets hold only for the record that it began with, its commands carry the epoch
// of that record, and each of its steps is checked, passes its fault points and is written down.
import { randomUUID } from "node:crypto";
import type { AgentState, CommandArgs, CommandDone, CommandName } from "../../core/agent-wire.ts";
import type { AgentClient } from "../../runtime/agent-client.ts";
import { monotonicMs, wallNowIso } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { RecoveryKind, RecoveryOutcome } from "../db/tables.ts";
import type { AuditWriter } from "./audit.ts";
import type { FaultPoints } from "./faults.ts";
import { formatGtidSet, type GtidSet } from "./gtid-set.ts";
import type { RecordKeeper } from "./record-keeper.ts";
import type { RecordChange, TripleRecord } from "./record.ts";
import type { ServerView } from "./server-view.ts";

const DETAIL_CHARS_MAX = 1_000;

/** What every recovery of a triple works with. */
export interface TripleContext {
  readonly keeper: RecordKeeper;
  readonly agents: ReadonlyMap<string, AgentClient>;
  readonly audit: AuditWriter;
  readonly faults: FaultPoints;
  readonly logger: Logger;
  /** Names of the servers, the preferred one first. */
  readonly order: readonly string[];
  view(server: string): ServerView;
  /** Told of every recovery that begins, so that it can be ended from outside. */
  began?(job: Job): void;
}

/** The lead is gone, or something more pressing has begun: the recovery ends where it is. */
export class LeadLost extends Error {
  override readonly name = "LeadLost";
}

/** An agent refused, failed or did not answer. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly server: string;
  readonly code: string;

  constructor(server: string, command: string, code: string, reason: string) {
    super(`${command} at ${server}: ${code}: ${reason}`);
    this.server = server;
    this.code = code;
  }
}

export interface JobPlan {
  readonly kind: RecoveryKind;
  readonly problem: string;
  readonly victim: string | null;
  /** Goes on with a recovery that another controller, or this one, has begun. */
  readonly adopts: string | null;
}

/** A row of the audit that somebody has to go on with. */
export interface Unfinished {
  readonly recoveryId: string;
  readonly kind: RecoveryKind;
}

/** Whether a recovery of the kind `next` is the same one going on. */
export function goesOnWith(unfinished: Unfinished, next: RecoveryKind): boolean {
  const ofSource: readonly RecoveryKind[] = ["LEAD", "SWITCHOVER"];
  if (next === "ABORT") return unfinished.kind !== "REJOIN" && unfinished.kind !== "REBUILD";
  return next === unfinished.kind || (next === "LEAD" && ofSource.includes(unfinished.kind));
}

export class Job {
  readonly context: TripleContext;
  readonly recoveryId: string;
  readonly plan: JobPlan;
  kind: RecoveryKind;
  #record: TripleRecord;
  #cancelled = false;
  #finished = false;

  private constructor(context: TripleContext, plan: JobPlan, record: TripleRecord, recoveryId: string) {
    this.context = context;
    this.plan = plan;
    this.kind = plan.kind;
    this.#record = record;
    this.recoveryId = recoveryId;
  }

  /**
   * Begins a recovery with the change of the record that fences off whatever came before.
   * @param step name of the change, as in `REVOKE`
   */
  static async begin(context: TripleContext, plan: JobPlan, step: string, change: RecordChange): Promise<Job> {
    const { record } = context.keeper;
    if (record === null) throw new LeadLost("there is no record");
    const job = new Job(context, plan, record, plan.adopts ?? randomUUID());
    context.began?.(job);
    await job.#cas(step, { ...change, epoch: record.epoch + 1 }, plan.adopts === null);
    return job;
  }

  /** Goes on at the present epoch. */
  static resume(context: TripleContext, plan: JobPlan): Job {
    const { record } = context.keeper;
    if (record === null) throw new LeadLost("there is no record");
    const job = new Job(context, plan, record, plan.adopts ?? randomUUID());
    context.began?.(job);
    return job;
  }

  get record(): TripleRecord {
    return this.#record;
  }

  get logger(): Logger {
    return this.context.logger;
  }

  /** Whether its end is written down. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Makes the next step throw LeadLost. */
  cancel(): void {
    this.#cancelled = true;
  }

  /** @throws LeadLost, RecordMoved, ControlDbUnavailable */
  cas(step: string, change: RecordChange): Promise<void> {
    return this.#cas(step, change, false);
  }

  async #cas(step: string, change: RecordChange, begins: boolean): Promise<void> {
    const { keeper, faults } = this.context;
    const name = `cas.${step}`;
    const beganMs = monotonicMs();
    this.assertLeads();
    await faults.at(name, null, "before");
    this.assertLeads();
    const next = { ...this.#record, ...change };
    const { tripleId, stripe, owner, src } = this.#record;
    const { kind, problem, victim } = this.plan;
    const row = { recoveryId: this.recoveryId, tripleId, stripe, kind, problem, owner, srcBefore: src, victim };
    const recovery = begins ? { ...row, epoch: next.epoch } : null;
    try {
      this.#record = await keeper.cas(this.#record, change, recovery);
    } catch (error) {
      this.#step(name, null, (error as Error).name, beganMs, (error as Error).message);
      throw error;
    }
    const { epoch, phase, ackSet } = this.#record;
    this.#step(
      name,
      null,
      "OK",
      beganMs,
      `epoch ${epoch} ${phase} src ${this.#record.src} ack-set ${ackSet.join(",")}`,
    );
    await faults.at(name, null, "after");
  }

  /**
   * Sends one command at this recovery's epoch.
   * @param needsLease false only after a confirmed PROMOTE: its steps may be finished however late
   * @throws CommandFailed, LeadLost
   */
  async command<C extends CommandName>(
    server: string,
    command: C,
    args: CommandArgs<C>,
    deadlineMs: number,
    needsLease = true,
  ): Promise<CommandDone & { readonly state: AgentState }> {
    const { faults } = this.context;
    const agent = this.context.agents.get(server);
    if (agent === undefined) throw new Error(`no agent of ${server}`);
    this.#assertMayGoOn(needsLease);
    await faults.at(command, server, "before");
    this.#assertMayGoOn(needsLease);
    const beganMs = monotonicMs();
    const { epoch } = this.#record;
    const failed = (code: string, reason: string): CommandFailed => {
      this.#step(command, server, code, beganMs, reason);
      return new CommandFailed(server, command, code, reason);
    };
    const runId = this.context.view(server).state?.agentRunId;
    const reply = await agent.command(command, epoch, args, deadlineMs, runId).catch((error: unknown) => {
      throw failed("UNREACHABLE", (error as Error).message);
    });
    await faults.at(command, server, "after");
    if (!reply.ok) throw failed(reply.code, `${reply.reason} (its epoch: ${reply.fileEpoch ?? "none"})`);
    this.#step(command, server, "OK", beganMs, null);
    return reply;
  }

  /** Writes down something that is neither a command nor a change of the record. */
  note(step: string, server: string | null, detail: string): void {
    this.#step(step, server, "OK", monotonicMs(), detail);
  }

  finish(outcome: RecoveryOutcome, detail: string | null): void {
    const srcAfter = this.#record.src;
    const text = detail?.slice(0, DETAIL_CHARS_MAX) ?? null;
    const { kind, recoveryId } = this;
    const changed = kind === this.plan.kind ? null : kind;
    this.#finished = true;
    this.context.audit.end({ recoveryId, kind: changed, outcome, srcAfter, detail: text });
    this.logger[outcome === "DONE" ? "info" : "warn"](
      { kind, problem: this.plan.problem, outcome, recoveryId, src: srcAfter, epoch: this.#record.epoch, detail: text },
      "recovery ended",
    );
  }

  /** @throws LeadLost */
  assertLeads(): void {
    this.#assertMayGoOn(true);
  }

  #assertMayGoOn(needsLease: boolean): void {
    if (this.#cancelled) throw new LeadLost("something more pressing has begun");
    if (needsLease && !this.context.keeper.leads) throw new LeadLost("the lease has run out");
  }

  #step(step: string, server: string | null, outcome: string, beganMs: number, detail: string | null): void {
    const { owner, epoch } = this.#record;
    this.context.audit.step({
      recoveryId: this.recoveryId,
      owner,
      epoch,
      step,
      server,
      outcome: outcome.slice(0, 20),
      tookMs: Math.round(monotonicMs() - beganMs),
      detail: detail?.slice(0, DETAIL_CHARS_MAX) ?? null,
      time: wallNowIso().replace("T", " ").replace("Z", ""),
    });
  }
}

/** GTID sets in audit and commands. */
export function gtidText(set: GtidSet): string {
  return formatGtidSet(set);
}
