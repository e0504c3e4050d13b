// From the recovery that a problem asks for to the function that does it, and from its result to what is remembered.
import { monotonicMs } from "../../runtime/clock.ts";
import { serverOrder, type TripleConfig } from "../config.ts";
import type { RecoveryKind } from "../db/tables.ts";
import type { SwitchoverRequest } from "../db/switchover-requests.ts";
import { goesOnWith, Job, LeadLost, type JobPlan, type TripleContext, type Unfinished } from "./job.ts";
import type { LeaderMemory } from "./memory.ts";
import type { Problem, Recovery } from "./problem.ts";
import { lead, type LeadResult } from "./recovery/lead.ts";
import { leaveNarrow, narrow } from "./recovery/narrow.ts";
import { resumePromote } from "./recovery/open-up.ts";
import { rejoin } from "./recovery/rejoin.ts";
import { abort, cover, newRecord, restoredRecord, settle } from "./recovery/small.ts";
import { heldUp, switchover } from "./recovery/switchover.ts";
import type { SwitchoverDesk } from "./switchover-desk.ts";

export type ActionableProblem = Problem & { readonly recovery: Recovery };

/** Recoveries that give way to something more pressing: they are begun anew, or not needed any more. */
const YIELDING: ReadonlySet<Recovery["do"]> = new Set(["rejoin", "narrow"]);

/** Problems whose recovery kills a source that may be well otherwise; not again and again. */
const KILLS_SOURCE: ReadonlySet<string> = new Set([
  "SOURCE_HUNG_MEMBER_LOST",
  "SOURCE_BEAT_HANGS_MEMBER_LOST",
  "ACKER_NEEDS_REBUILD",
]);

export class RunningRecovery {
  readonly problem: ActionableProblem;
  readonly beganMs = monotonicMs();
  /** Never rejects. */
  ended: Promise<{ readonly error: unknown }> = Promise.resolve({ error: null });
  #job: Job | null = null;
  #cancelled = false;

  constructor(problem: ActionableProblem) {
    this.problem = problem;
  }

  get what(): Recovery["do"] {
    return this.problem.recovery.do;
  }

  get job(): Job | null {
    return this.#job;
  }

  began(job: Job): void {
    this.#job = job;
    if (this.#cancelled) job.cancel();
  }

  cancel(): void {
    this.#cancelled = true;
    this.#job?.cancel();
  }

  yieldsTo(other: ActionableProblem): boolean {
    const { recovery } = this.problem;
    if (!YIELDING.has(recovery.do) || other.rank >= this.problem.rank) return false;
    // Its own steps look like another problem of the same server for a moment.
    const about = "server" in recovery ? recovery.server : null;
    const same = "server" in other.recovery && other.recovery.server === about;
    return !same;
  }
}

export class RecoveryRunner {
  readonly #context: TripleContext;
  readonly #config: TripleConfig;
  readonly #memory: LeaderMemory;
  readonly #desk: SwitchoverDesk;

  constructor(context: TripleContext, config: TripleConfig, memory: LeaderMemory, desk: SwitchoverDesk) {
    this.#context = context;
    this.#config = config;
    this.#memory = memory;
    this.#desk = desk;
  }

  /** @param unfinished row of the audit to go on with; @param beatHung receivers are restarted because writes wait */
  begin(problem: ActionableProblem, unfinished: Unfinished | null, beatHung: boolean): RunningRecovery {
    const running = new RunningRecovery(problem);
    const context = { ...this.#context, began: (job: Job) => running.began(job) };
    running.ended = this.#run(context, problem, unfinished, beatHung).then(
      () => ({ error: null }),
      (error: unknown) => ({ error: error ?? new Error("failed") }),
    );
    return running;
  }

  async #run(
    context: TripleContext,
    problem: ActionableProblem,
    unfinished: Unfinished | null,
    beatHung: boolean,
  ): Promise<void> {
    const { recovery } = problem;
    const plan = (kind: RecoveryKind, victim: string | null = null): JobPlan => {
      return { kind, problem: problem.code, victim, adopts: this.#adopted(unfinished, kind) };
    };
    switch (recovery.do) {
      case "birth":
        return this.#create(newRecord(this.#config.tripleId, this.#config.stripe, context.order, this.#owner));
      case "restore-record":
        return this.#restore();
      case "lead":
        return this.#lead(context, plan("LEAD"), recovery);
      case "resume-promote":
        return this.#resumePromote(context, plan("LEAD"));
      case "abort":
        return abort(context, plan("ABORT"));
      case "narrow":
        return narrow(context, plan("NARROW", recovery.server), recovery.server);
      case "leave-narrow":
        return leaveNarrow(context, plan("ABORT"));
      case "rejoin":
        this.#memory.repairBegan(recovery.server, beatHung);
        return this.#rejoin(context, plan("REJOIN", recovery.server), recovery.server, recovery.rebuild);
      case "settle":
        return settle(context, { ...plan("SETTLE"), adopts: this.#memory.lastLeadId });
      case "cover":
        this.#memory.mustSettleAnew();
        return cover(context, { ...plan("SETTLE"), adopts: this.#memory.lastLeadId });
      case "switchover":
        return this.#switchover(context, plan("SWITCHOVER"), recovery.request, recovery.target);
      case "refuse-switchover":
        await this.#desk.take(recovery.request);
        return this.#desk.answer(recovery.request, "REFUSED", recovery.reason, null);
    }
  }

  /** Goes on with the unfinished row, or ends it when something else begins. */
  #adopted(unfinished: Unfinished | null, kind: RecoveryKind): string | null {
    if (unfinished === null) return null;
    const { recoveryId } = unfinished;
    if (goesOnWith(unfinished, kind)) return recoveryId;
    const srcAfter = this.#context.keeper.record?.src ?? "";
    this.#context.audit.end({ recoveryId, kind: null, outcome: "FAILED", srcAfter, detail: "something else began" });
    return null;
  }

  get #owner(): string {
    return this.#context.keeper.owner;
  }

  async #create(record: ReturnType<typeof newRecord>): Promise<void> {
    const made = await this.#context.keeper.create(record);
    if (!made) throw new LeadLost("another controller made the record");
  }

  #restore(): Promise<void> {
    const { tripleId, stripe } = this.#config;
    const views = serverOrder(this.#config).map((server) => this.#context.view(server));
    const record = restoredRecord(tripleId, stripe, views, this.#owner);
    this.#context.logger.warn({ record }, "the record is made anew from what the servers say");
    return this.#create(record);
  }

  async #lead(
    context: TripleContext,
    plan: JobPlan,
    options: { readonly prefer: string | null; readonly avoid?: string; readonly killSource: boolean },
  ): Promise<void> {
    const before = context.keeper.record?.src;
    if (options.prefer !== null && KILLS_SOURCE.has(plan.problem)) this.#memory.sourceKilled();
    this.#led(await lead(context, plan, options), before);
  }

  #led({ job, done, base }: LeadResult, before: string | undefined): void {
    if (done) this.#memory.sourceLeads(job.record.src !== before, base, job.recoveryId);
    else this.#memory.blocked();
  }

  async #resumePromote(context: TripleContext, plan: JobPlan): Promise<void> {
    const job = Job.resume(context, plan);
    const base = await resumePromote(job);
    job.finish("DONE", "went on with a recorded promotion");
    this.#memory.sourceLeads(true, base, job.recoveryId);
  }

  async #rejoin(context: TripleContext, plan: JobPlan, server: string, rebuild: boolean): Promise<void> {
    const result = await rejoin(context, plan, server, rebuild);
    if (result.did === "must-narrow") this.#memory.mustRebuild(server);
    if (result.did !== "rebuilding") return;
    this.#memory.rebuilding(server, true);
    void result.finished.finally(() => this.#memory.rebuilding(server, false));
  }

  async #switchover(context: TripleContext, plan: JobPlan, request: SwitchoverRequest, target: string): Promise<void> {
    const { record } = context.keeper;
    if (record === null || !(await this.#desk.take(request))) return;
    const why = await heldUp(context);
    if (why !== null) return this.#desk.answer(request, "REFUSED", why, null);
    let recoveryId: string | null = null;
    try {
      const end = await switchover(context, plan, target, (id) => {
        recoveryId = id;
      });
      if (end.outcome === "DONE" || end.result.done) this.#led(end.result, record.src);
      await this.#desk.answer(request, end.outcome, end.outcome === "DONE" ? null : end.why, recoveryId);
    } catch (error) {
      // The record is in REVOKE or PROMOTE: the next look goes on with it, and a later one tells how it ended.
      this.#context.logger.warn({ err: (error as Error).message }, "the switchover broke off");
      throw error;
    }
  }
}
