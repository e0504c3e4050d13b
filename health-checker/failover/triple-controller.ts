// Looks after one triple while this process leads it: watches its agents, asks the problem table what is wrong, and runs
// the recovery that the most pressing problem asks for, one at a time. Standing by, it only waits for the lease.
import { AgentClient } from "../../runtime/agent-client.ts";
import { monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { serverOrder, type HealthCheckerConfig, type TripleConfig } from "../config.ts";
import { ControlDbUnavailable, type ControlDb } from "../db/control-db.ts";
import { closeAbandonedRecoveries, unfinishedRecovery } from "../db/read-recoveries.ts";
import { AgentWatch } from "./agent-watch.ts";
import { problemsOf, toActOn } from "./analysis.ts";
import { AuditWriter } from "./audit.ts";
import { AssertionViolated } from "./choose.ts";
import type { FaultPoints } from "./faults.ts";
import { CommandFailed, LeadLost, type TripleContext, type Unfinished } from "./job.ts";
import { LeaderMemory } from "./memory.ts";
import type { FailoverMetrics } from "./metrics.ts";
import type { Problem } from "./problem.ts";
import { RecordKeeper, RecordMoved } from "./record-keeper.ts";
import { RecoveryRunner, type ActionableProblem, type RunningRecovery } from "./recovery-runner.ts";
import type { Snapshot } from "./snapshot.ts";
import { SwitchoverDesk } from "./switchover-desk.ts";
import { CONTROL_DB_DEADLINE_MS, STANDBY_INTERVAL_MS } from "./thresholds.ts";

/** A look is taken at least this often, news from the agents or not. */
const TICK_MS = 200;
const AUDIT_STOP_MS = 2_000;
/** A server that has not been seen anew by then after a recovery does not answer. */
const PAST_MAX_MS = 1_000;
/** What a leader may be in the middle of when it is told to stop. */
const STOP_RECOVERY_MS = 3_000;

export interface TripleStatus {
  readonly tripleId: string;
  readonly stripe: number;
  readonly leads: boolean;
  readonly record: Snapshot["record"];
  readonly problems: readonly Problem[];
  readonly running: { readonly kind: string; readonly problem: string; readonly sinceMs: number } | null;
  readonly halted: string | null;
  readonly views: Snapshot["views"];
}

export class TripleController implements AsyncDisposable {
  readonly config: TripleConfig;
  readonly #logger: Logger;
  readonly #db: ControlDb;
  readonly #metrics: FailoverMetrics;
  readonly #recordLostConfirmed: boolean;
  readonly #keeper: RecordKeeper;
  readonly #audit: AuditWriter;
  readonly #watches: ReadonlyMap<string, AgentWatch>;
  readonly #clients: readonly AgentClient[];
  readonly #memory = new LeaderMemory();
  readonly #desk: SwitchoverDesk;
  readonly #runner: RecoveryRunner;
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #watching = false;
  #running: RunningRecovery | null = null;
  #endedMs = -Infinity;
  /** `timesTaken` of the keeper when this lead began. */
  #begunAfter = 0;
  #halted: string | null = null;
  #problems: readonly Problem[] = [];
  #unfinished: Unfinished | null = null;
  /** A recovery that ended while the lease had run out: whoever leads next goes on with its row, or ends it. */
  #leftOpen: { readonly running: RunningRecovery; readonly error: unknown; readonly current: boolean } | null = null;

  constructor(
    config: TripleConfig,
    checker: HealthCheckerConfig,
    deps: {
      readonly db: ControlDb;
      readonly logger: Logger;
      readonly metrics: FailoverMetrics;
      readonly faults: FaultPoints;
    },
  ) {
    const { db, metrics, faults } = deps;
    this.config = config;
    this.#db = db;
    this.#metrics = metrics;
    this.#logger = deps.logger.child({ stripe: config.stripe });
    this.#recordLostConfirmed = checker.recordLostConfirmed.includes(config.tripleId);
    this.#keeper = new RecordKeeper(db, config.tripleId, checker.owner, this.#logger);
    this.#audit = new AuditWriter(db, this.#logger);
    // Two connections pools per agent: a command that takes long must not keep the looks waiting.
    const clientOf = ({ name, agentUrl }: TripleConfig["servers"][number]): AgentClient => {
      const { hostname, port } = new URL(agentUrl);
      return new AgentClient({ server: name, host: hostname, port: Number(port), apiToken: checker.agentApiToken });
    };
    const watching = config.servers.map(clientOf);
    const commanding = config.servers.map(clientOf);
    this.#clients = [...watching, ...commanding];
    this.#watches = new Map(watching.map((client) => [client.server, new AgentWatch(client, () => this.#wake())]));
    const context: TripleContext = {
      keeper: this.#keeper,
      agents: new Map(commanding.map((client) => [client.server, client])),
      audit: this.#audit,
      faults,
      logger: this.#logger,
      order: serverOrder(config),
      view: (server) => this.#watch(server).view,
    };
    this.#desk = new SwitchoverDesk(db, config.tripleId, this.#logger);
    this.#runner = new RecoveryRunner(context, config, this.#memory, this.#desk);
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Lets a recovery under way come to its end within a bound, then lets another controller lead at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#wake();
    const running = this.#running;
    if (running !== null) {
      const timer = new AbortController();
      await Promise.race([running.ended, sleep(STOP_RECOVERY_MS, timer.signal)]);
      timer.abort();
      running.cancel();
    }
    await this.#loop;
    await this.#stopWatching();
    await this.#audit.stop(AUDIT_STOP_MS);
    await this.#keeper.release().catch((error: unknown) => this.#logger.warn({ err: error }, "the lease stays"));
    for (const client of this.#clients) await client.close();
  }

  status(): TripleStatus {
    const { tripleId, stripe } = this.config;
    const running = this.#running;
    return {
      tripleId,
      stripe,
      leads: this.#keeper.leads,
      record: this.#keeper.record,
      problems: this.#problems,
      running:
        running === null
          ? null
          : { kind: running.what, problem: running.problem.code, sinceMs: Math.round(monotonicMs() - running.beganMs) },
      halted: this.#halted,
      views: [...this.#watches.values()].map((watch) => watch.view),
    };
  }

  #watch(server: string): AgentWatch {
    const watch = this.#watches.get(server);
    if (watch === undefined) throw new Error(`${server} is no server of ${this.config.tripleId}`);
    return watch;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        if (!(await this.#mayLook())) {
          await sleep(STANDBY_INTERVAL_MS, signal);
          continue;
        }
        this.#keeper.renewWhenDue();
        this.#desk.lookWhenDue(this.#keeper.record, this.#running !== null);
        this.#think();
      } catch (error) {
        this.#logger.error({ err: error }, "looking after the triple failed");
        await sleep(STANDBY_INTERVAL_MS, signal);
      }
      await this.#nextNews();
    }
  }

  /** Whether this process leads, or there is no record yet and somebody may have to make one. */
  async #mayLook(): Promise<boolean> {
    if (this.#keeper.leads && !this.#mustBegin) {
      this.#takeUpLeftOpen();
      return true;
    }
    const ledBefore = this.#watching && this.#keeper.record !== null;
    try {
      const leads = await this.#keeper.standBy();
      this.#metrics.leads.set({ stripe: this.config.stripe }, leads ? 1 : 0);
      if (!leads && this.#keeper.record !== null) {
        if (ledBefore) this.#logger.warn({ owner: this.#keeper.record.owner }, "another controller leads");
        this.#running?.cancel();
        await this.#stopWatching();
        this.#problems = [];
        return false;
      }
      // Also when the lease had only run out unnoticed: another may have led in between.
      if (leads && this.#mustBegin) await this.#beginToLead();
      else if (leads) this.#takeUpLeftOpen();
    } catch (error) {
      if (!(error instanceof ControlDbUnavailable)) throw error;
      this.#logger.warn({ err: error.message }, "the control database does not answer: nothing new is begun");
      return false;
    }
    this.#startWatching();
    return true;
  }

  /** The lead was taken since this process last began to lead. */
  get #mustBegin(): boolean {
    return this.#keeper.timesTaken !== this.#begunAfter;
  }

  async #beginToLead(): Promise<void> {
    const { record, timesTaken } = this.#keeper;
    if (record === null) return;
    this.#running?.cancel();
    this.#running = null;
    this.#logger.info({ epoch: record.epoch, phase: record.phase, src: record.src }, "leads the triple");
    this.#memory.forget();
    const { tripleId } = this.config;
    this.#unfinished = await this.#db.run(CONTROL_DB_DEADLINE_MS, async (sql) => {
      const goesOn = record.phase === "IDLE" ? null : await unfinishedRecovery(sql, tripleId);
      await closeAbandonedRecoveries(sql, tripleId, record.src, goesOn?.recoveryId ?? null);
      return goesOn;
    });
    this.#begunAfter = timesTaken;
    this.#leftOpen = null;
  }

  #startWatching(): void {
    if (this.#watching) return;
    this.#watching = true;
    for (const watch of this.#watches.values()) watch.start();
  }

  async #stopWatching(): Promise<void> {
    if (!this.#watching) return;
    this.#watching = false;
    await Promise.all([...this.#watches.values()].map((watch) => watch.stop()));
  }

  #snapshot(): Snapshot {
    return {
      nowMs: monotonicMs(),
      record: this.#keeper.record,
      views: [...this.#watches.values()].map((watch) => watch.view),
      memory: this.#memory.now,
      recordLostConfirmed: this.#recordLostConfirmed,
      switchover: this.#desk.waiting,
      halted: this.#halted,
    };
  }

  #think(): void {
    const snapshot = this.#snapshot();
    if (this.#running === null) this.#memory.learn(snapshot);
    const problems = problemsOf({ ...snapshot, memory: this.#memory.now });
    const told = new Set(this.#problems.map(({ code }) => code));
    this.#tellChanges(problems.filter(({ code, server }) => told.has(code) || !this.#wasBefore(snapshot, server)));
    const problem = toActOn(problems);
    if (problem === null || this.#stop.signal.aborted || this.#seesThePast(snapshot)) return;
    const running = this.#running;
    if (running !== null) {
      if (!running.yieldsTo(problem)) return;
      this.#logger.warn({ problem: problem.code, gaveWay: running.problem.code }, "something more pressing");
      running.cancel();
      this.#running = null;
    }
    this.#begin(problem);
  }

  /** What was asked before the last recovery ended tells of servers as they were before it. */
  #seesThePast({ views, nowMs }: Snapshot): boolean {
    if (nowMs - this.#endedMs > PAST_MAX_MS) return false;
    return views.some((view) => view.failures === 0 && view.askedAtMs < this.#endedMs);
  }

  /** Whether a server was last looked at before the step that a recovery under way has just recorded. */
  #wasBefore({ views }: Snapshot, server: string | undefined): boolean {
    const view = views.find(({ name }) => name === server);
    return this.#running !== null && view !== undefined && view.askedAtMs < this.#keeper.changedMs;
  }

  #begin(problem: ActionableProblem): void {
    const unfinished = this.#keeper.record?.phase === "IDLE" ? null : this.#unfinished;
    this.#unfinished = null;
    this.#logger.warn(
      { problem: problem.code, server: problem.server, detail: problem.detail, recovery: problem.recovery.do },
      "recovery begins",
    );
    const hangs = problem.code === "ACKER_MISSING" || problem.code === "ACK_LOST";
    const running = this.#runner.begin(problem, unfinished, hangs);
    this.#running = running;
    running.ended
      .then((result) => this.#ended(running, result.error))
      .catch((error: unknown) => this.#logger.error({ err: error }, "a recovery's end could not be taken in"));
  }

  #ended(running: RunningRecovery, error: unknown): void {
    const { stripe } = this.config;
    const outcome = error === null ? "ended" : ((error as Error).name ?? "error");
    this.#metrics.recoveries.inc({ stripe, kind: running.what, outcome });
    this.#metrics.recoverySeconds.observe({ kind: running.what }, (monotonicMs() - running.beganMs) / 1_000);
    const current = this.#running === running;
    if (current) this.#running = null;
    this.#endedMs = monotonicMs();
    this.#closeAudit(running, error, current);
    if (error !== null) this.#takeError(running, error);
    this.#wake();
  }

  /** A recovery that left the record in a phase goes on in the same row of the audit; any other ends in it. */
  #closeAudit(running: RunningRecovery, error: unknown, current: boolean): void {
    const { job, problem } = running;
    const { record, leads } = this.#keeper;
    if (job === null || job.finished || record === null) return;
    if (!leads) {
      this.#leftOpen = { running, error, current };
      return;
    }
    const { recoveryId, kind } = job;
    const ofOneServer = kind === "REJOIN" || kind === "REBUILD";
    if (current && record.phase !== "IDLE" && !ofOneServer) this.#unfinished = { recoveryId, kind };
    else if (error !== null) job.finish("FAILED", `${problem.code}: ${(error as Error).message}`);
  }

  /** The lease had only run out, nobody else has led since: the row is this process's to go on with. */
  #takeUpLeftOpen(): void {
    const left = this.#leftOpen;
    if (left === null) return;
    this.#leftOpen = null;
    this.#closeAudit(left.running, left.error ?? new LeadLost("the lease has run out"), left.current);
  }

  #takeError(running: RunningRecovery, error: unknown): void {
    const fields = { problem: running.problem.code, err: (error as Error).message };
    if (error instanceof AssertionViolated) {
      this.#halted = error.message;
      this.#metrics.violations.inc({ stripe: this.config.stripe });
      this.#logger.fatal(fields, "ASSERTION: nothing more is done for this triple until a person has looked");
      return;
    }
    const expected = [CommandFailed, LeadLost, RecordMoved, ControlDbUnavailable].some((kind) => error instanceof kind);
    this.#logger[expected ? "warn" : "error"](expected ? fields : { ...fields, err: error }, "recovery stopped");
    if (error instanceof RecordMoved || error instanceof ControlDbUnavailable) this.#keeper.distrust();
    if (!(error instanceof LeadLost)) this.#memory.blocked();
  }

  /** A problem is told once, when it begins and when it has gone. */
  #tellChanges(problems: readonly Problem[]): void {
    const { stripe } = this.config;
    const before = new Set(this.#problems.map(({ code }) => code));
    const now = new Set(problems.map(({ code }) => code));
    for (const { code, server, detail, page } of problems) {
      if (before.has(code)) continue;
      this.#metrics.problem.set({ stripe, code }, 1);
      this.#logger[page ? "error" : "warn"]({ problem: code, server, detail }, "problem");
    }
    for (const code of before) {
      if (now.has(code)) continue;
      this.#metrics.problem.set({ stripe, code }, 0);
      this.#logger.info({ problem: code }, "problem over");
    }
    this.#problems = problems;
    this.#metrics.epoch.set({ stripe }, this.#keeper.record?.epoch ?? 0);
  }

  #nextNews(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, TICK_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
