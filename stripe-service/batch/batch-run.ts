// One transaction of several operations, from its start to its answers. What it promises to each of them:
// - an operation whose deadline passes before COMMIT is answered "nothing written", and then it is not: the batch is
//   rolled back and run again without it;
// - after COMMIT was sent without an answer, everything that rests on what was written is unknown, and nothing else is;
// - an answer that rests on nothing that this transaction writes is given as soon as it is known.
import { Deadline } from "../../runtime/clock.ts";
import { done, type Outcome, type Tx, TransactionRetry } from "../orders/tx.ts";
import { overloaded } from "../storage/mysql-faults.ts";
import type { SessionPool } from "../storage/session-pool.ts";
import { BatchBroken, type Writer } from "../storage/writer.ts";
import type { Member } from "./member.ts";
import type { Result } from "./operations.ts";
import { bucketsOf, runBatch } from "./run-batch.ts";

export class BatchRun {
  readonly #members: readonly Member[];
  readonly #commitReserveMs: number;
  #committing = false;
  /** Of the present try. */
  #results = new Map<Member, Result>();

  constructor(members: readonly Member[], commitReserveMs: number) {
    this.#members = members;
    this.#commitReserveMs = commitReserveMs;
  }

  /** Runs it. Never rejects. @returns members that were not answered, to be run alone */
  async run(writer: Writer, pool: SessionPool): Promise<readonly Member[]> {
    const buckets = bucketsOf(this.#members.map(({ op }) => op));
    const beforeCommit = (): void => this.#beforeCommit();
    try {
      await writer.run(latest(this.#members), { buckets }, (tx) => this.#try(tx), {
        pool,
        batch: { beforeCommit },
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

  async #try(tx: Tx): Promise<Outcome<void>> {
    this.#committing = false;
    const live = this.#unsettled();
    const results = await runBatch(
      tx,
      live.map(({ op }) => op),
      "SKIP",
    );
    this.#results = new Map(live.map((member, i) => [member, results[i] as Result]));
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

/** The batch goes on as long as one of its members may wait. */
function latest(members: readonly Member[]): Deadline {
  return new Deadline(Math.max(...members.map(({ deadline }) => deadline.remainingMs())));
}
