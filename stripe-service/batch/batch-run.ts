// One transaction of several operations, from its start to its answers. What it promises to each of them:
// - an operation whose deadline passes before COMMIT is answered "nothing written", and then it is not: the batch is
//   rolled back and run again without it;
// - after COMMIT was sent without an answer, everything that rests on what was written is unknown, and nothing else is;
// - an answer that rests on nothing that this transaction writes is given as soon as it is known.
import { Deadline, monotonicMs } from "../../runtime/clock.ts";
import { done, type Outcome, type Tx, TransactionRetry } from "../orders/tx.ts";
import { overloaded } from "../storage/mysql-faults.ts";
import type { SessionPool } from "../storage/session-pool.ts";
import { BatchBroken, type Writer } from "../storage/writer.ts";
import type { Member } from "./member.ts";
import { type Ahead, AheadOfFence, aheadOf, aheadResult } from "./ahead.ts";
import type { Operation, Result } from "./operations.ts";
import { bucketsOf, runBatch } from "./run-batch.ts";

/** A row in other hands keeps no other operation waiting. */
const LOCK = "SKIP";

export class BatchRun {
  readonly #members: readonly Member[];
  readonly #commitReserveMs: number;
  readonly startedMs = monotonicMs();
  #committing = false;
  #mayRunAhead = true;
  /** Of the present try. */
  #live: readonly Member[] = [];
  #ahead: Ahead | undefined;
  #results = new Map<Member, Result>();

  constructor(members: readonly Member[], commitReserveMs: number) {
    this.#members = members;
    this.#commitReserveMs = commitReserveMs;
  }

  get size(): number {
    return this.#members.length;
  }

  /** Runs it. Never rejects. @returns members that were not answered, to be run alone */
  async run(writer: Writer, pool: SessionPool): Promise<readonly Member[]> {
    const buckets = bucketsOf(this.#members.map(({ op }) => op));
    const beforeCommit = (): void => this.#beforeCommit();
    try {
      await writer.run(latest(this.#members), { buckets }, (tx, result) => this.#try(tx, result), {
        pool,
        mindsReplacement: true,
        batch: { beforeCommit, ahead: () => this.#sendAhead() },
      });
    } catch (error) {
      if (error instanceof BatchBroken) return this.#unsettled();
      // Who waits for a row that others hold has no part in what went wrong after COMMIT was sent.
      const held = this.#committing ? this.#unsettled().filter((member) => this.#isHeld(member)) : [];
      for (const member of this.#unsettled()) if (!held.includes(member)) member.fail(error);
      return held;
    }
    for (const [member, result] of this.#results) {
      if (!member.settled && result.kind === "answer") member.answer(result.outcome);
    }
    return this.#unsettled();
  }

  /** Answers those whose deadline has passed. */
  expire(): void {
    for (const member of this.#members) {
      if (!member.settled && member.deadline.passed) member.deadlinePassed(this.#committing && this.#isPending(member));
    }
  }

  /** A try begins: with those who still wait. */
  #sendAhead(): string | undefined {
    this.#committing = false;
    this.#live = this.#unsettled();
    this.#ahead = this.#mayRunAhead ? aheadOf(operationsOf(this.#live), LOCK) : undefined;
    return this.#ahead?.sql;
  }

  async #try(tx: Tx, result: unknown): Promise<Outcome<void>> {
    const ahead = this.#ahead === undefined ? undefined : aheadResult(this.#ahead, result);
    try {
      const results = await runBatch(tx, operationsOf(this.#live), LOCK, ahead);
      this.#results = new Map(this.#live.map((member, i) => [member, results[i] as Result]));
    } catch (error) {
      if (error instanceof AheadOfFence) this.#mayRunAhead = false;
      throw error;
    }
    return done(undefined);
  }

  #beforeCommit(): void {
    let again = false;
    for (const [member, result] of this.#results) {
      if (result.kind !== "answer") continue;
      if (!result.pending) {
        if (!member.settled) member.answer(result.outcome);
        continue;
      }
      if (!member.settled && member.deadline.remainingMs() < this.#commitReserveMs) {
        member.fail(overloaded("too late to commit in time; nothing was written"));
      }
      if (member.settled) again = true;
    }
    if (again) throw new TransactionRetry("an operation's time was over before COMMIT");
    this.#committing = true;
  }

  #isHeld(member: Member): boolean {
    return this.#results.get(member)?.kind === "held";
  }

  #isPending(member: Member): boolean {
    const result = this.#results.get(member);
    return result?.kind === "answer" && result.pending;
  }

  #unsettled(): Member[] {
    return this.#members.filter((member) => !member.settled);
  }
}

function operationsOf(members: readonly Member[]): Operation[] {
  return members.map(({ op }) => op);
}

/** The batch goes on as long as one of its members may wait. */
function latest(members: readonly Member[]): Deadline {
  return new Deadline(Math.max(...members.map(({ deadline }) => deadline.remainingMs())));
}
