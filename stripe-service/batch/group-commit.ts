// Operations that wait at the same time share a transaction. A batch forms while the ones before it are being
// committed, and starts when it is as large as all of those together, or when they are done: so batches are large when
// much is asked, several are under way when commits take long, and an operation that finds nobody before it is a batch of
// one, at once.
import { type Deadline, monotonicMs } from "../../runtime/clock.ts";
import { type Outcome, refused, type Tx } from "../orders/tx.ts";
import { overloaded, unavailable } from "../storage/mysql-faults.ts";
import type { SessionPool } from "../storage/session-pool.ts";
import type { Writer } from "../storage/writer.ts";
import { nameOf } from "./ahead.ts";
import { BatchRun } from "./batch-run.ts";
import { Member } from "./member.ts";
import { type AnswerOf, type AnyAnswer, isProbe, type Operation, type Result } from "./operations.ts";
import { bucketsOf, runBatch } from "./run-batch.ts";

export interface GroupCommitLimits {
  /** Batches at the same time. */
  readonly flushers: number;
  /** Operations in one batch. */
  readonly batchMax: number;
  /** Operations that wait; one more is refused at once. */
  readonly queueMax: number;
  readonly queueWaitMs: number;
  readonly commitReserveMs: number;
}

/**
 * A batch that has been under way for so long keeps no other one waiting: what it waits for is not the processor, but a
 * replica far away or a row in other hands.
 */
const SLOW_MS = 15;
/** Probes that wait at most: far more than checkers send while one of theirs is still waited for. */
const PROBES_WAITING_MAX = 32;
/** How often waiting operations' deadlines are looked at; there is no timer while nobody waits. */
const WATCH_MS = 10;

export class GroupCommit {
  readonly #writer: Writer;
  readonly #pool: SessionPool;
  readonly #limits: GroupCommitLimits;
  #queue: Member[] = [];
  readonly #running = new Set<BatchRun>();
  /** What a batch left over and others of the same order come before. */
  readonly #inTurn = new Set<Member>();
  #awake = false;
  #watch: NodeJS.Timeout | undefined;
  /** Told of the size of each batch. */
  onBatch: (size: number) => void = () => undefined;

  constructor(writer: Writer, pool: SessionPool, limits: GroupCommitLimits) {
    this.#writer = writer;
    this.#pool = pool;
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Runs one operation, in a transaction with others.
   * @throws DomainError as `Writer.run`; OVERLOADED also when too many wait
   */
  async run<O extends Operation>(deadline: Deadline, op: O): Promise<Outcome<AnswerOf<O>>> {
    switch (this.#writer.condition) {
      case "refused":
        throw unavailable("the stripe's database does not answer; nothing was written");
      case "trial":
        return (await this.#alone(new Member(op, deadline, 0), this.#pool)) as Outcome<AnswerOf<O>>;
      case "normal":
        return (await this.#join(op, deadline)) as Outcome<AnswerOf<O>>;
    }
  }

  /** Lets go of the timer; whoever still waits is answered by its batch. */
  stop(): void {
    clearTimeout(this.#watch);
    this.#watch = undefined;
  }

  #join(op: Operation, deadline: Deadline): Promise<Outcome<AnyAnswer>> {
    const member = isProbe(op) ? this.#first(op, deadline) : this.#last(op, deadline);
    this.#wakeUp();
    this.#watch ??= setTimeout(() => this.#look(), WATCH_MS);
    return member.answered;
  }

  #last(op: Operation, deadline: Deadline): Member {
    if (this.#queue.length >= this.#limits.queueMax) throw overloaded("too many requests wait for the database");
    const member = new Member(op, deadline, monotonicMs() + this.#limits.queueWaitMs);
    this.#queue.push(member);
    return member;
  }

  /**
   * A probe asks whether batches get done, not whether there is room for one more: it is in the next, and merchants'
   * requests never shed it. Probes are the first in the queue.
   */
  #first(op: Operation, deadline: Deadline): Member {
    if (isProbe(this.#queue[PROBES_WAITING_MAX - 1]?.op)) throw overloaded("too many probes wait for the database");
    const member = new Member(op, deadline, Number.POSITIVE_INFINITY);
    this.#queue.unshift(member);
    return member;
  }

  /** Everything that arrives in this turn of the event loop is to be in the same batch. */
  #wakeUp(): void {
    if (this.#awake) return;
    this.#awake = true;
    setImmediate(() => {
      this.#awake = false;
      this.#flush();
    });
  }

  /** Whether what waits is worth a transaction of its own now. */
  #mayStart(): boolean {
    const { flushers, batchMax } = this.#limits;
    if (this.#queue.length === 0 || this.#running.size >= flushers) return false;
    const slowMs = monotonicMs() - SLOW_MS;
    let underWay = 0;
    for (const run of this.#running) if (run.startedMs > slowMs) underWay += run.size;
    return this.#queue.length >= Math.min(underWay, batchMax);
  }

  #flush(): void {
    while (this.#mayStart()) {
      const members = this.#queue.splice(0, this.#limits.batchMax).filter((member) => !this.#isTooLate(member));
      if (members.length === 0) continue;
      const run = new BatchRun(members, this.#limits.commitReserveMs);
      this.#running.add(run);
      this.onBatch(members.length);
      void run.run(this.#writer, this.#pool).then((left) => {
        this.#running.delete(run);
        for (const some of Map.groupBy(left, aboutOf).values()) void this.#settleInTurn(some);
        this.#flush();
      });
    }
  }

  #isTooLate(member: Member): boolean {
    if (!member.settled && member.deadline.remainingMs() < this.#limits.commitReserveMs) member.waitedTooLong();
    return member.settled;
  }

  /** What is about one thing keeps the order in which it came. */
  async #settleInTurn(members: readonly Member[]): Promise<void> {
    for (const member of members) this.#inTurn.add(member);
    this.#watch ??= setTimeout(() => this.#look(), WATCH_MS);
    for (const member of members) {
      this.#inTurn.delete(member);
      if (!member.settled) await this.#settleAlone(member);
    }
  }

  /** Runs what a batch left over: its row is in other hands, or one of the batch was at fault and nobody knows which. */
  async #settleAlone(member: Member): Promise<void> {
    try {
      const outcome = await this.#alone(member);
      if (!member.settled) member.answer(outcome);
    } catch (error) {
      if (!member.settled) member.fail(error);
    }
  }

  /** A transaction of one operation, which waits for rows that others hold. */
  #alone({ op, deadline }: Member, pool?: SessionPool): Promise<Outcome<AnyAnswer>> {
    const once = async (tx: Tx): Promise<Outcome<AnyAnswer>> => {
      const [result] = await runBatch(tx, [op], "WAIT", undefined);
      return outcomeOf(result);
    };
    return this.#writer.run(deadline, { buckets: bucketsOf([op]) }, once, {
      mindsReplacement: true,
      ...(pool === undefined ? {} : { pool }),
    });
  }

  #look(): void {
    this.#watch = undefined;
    for (const run of this.#running) run.expire();
    for (const member of this.#inTurn) if (!member.settled && member.deadline.passed) member.waitedTooLong();
    const refusing = this.#writer.condition === "refused";
    const now = monotonicMs();
    for (const member of this.#queue) {
      if (refusing) member.fail(unavailable("the stripe's database does not answer; nothing was written"));
      else if (now > member.queueUntilMs || member.deadline.passed) member.waitedTooLong();
    }
    if (this.#queue.some((member) => member.settled)) this.#queue = this.#queue.filter((member) => !member.settled);
    this.#flush();
    if (this.#queue.length > 0 || this.#running.size > 0 || this.#inTurn.size > 0)
      this.#watch = setTimeout(() => this.#look(), WATCH_MS);
  }
}

/** What an operation is about: the order of two that are about the same matters. */
function aboutOf({ op }: Member): string {
  switch (op.kind) {
    case "create":
      return nameOf(op.input.order.mchid, op.input.order.out_trade_no);
    case "refund-result":
      return op.refundId;
    case "probe-create":
      return op.probe.probe_id;
    case "probe-close":
      return op.probeId;
    default:
      return op.transactionId;
  }
}

function outcomeOf(result: Result | undefined): Outcome<AnyAnswer> {
  if (result?.kind === "answer") return result.outcome;
  return refused(overloaded("the row is held by others"));
}
