// One operation on its way through a batch. It is answered exactly once; the answer says for certain whether anything
// was written wherever that can be known.
import type { Deadline } from "../../runtime/clock.ts";
import type { Outcome } from "../orders/tx.ts";
import { notDurable, overloaded, unavailable } from "../storage/mysql-faults.ts";
import type { AnyAnswer, Operation } from "./operations.ts";

export class Member {
  readonly op: Operation;
  readonly deadline: Deadline;
  readonly answered: Promise<Outcome<AnyAnswer>>;
  /** When it must have been taken out of the queue, on the monotonic clock. */
  readonly queueUntilMs: number;
  #settled = false;
  readonly #resolve: (outcome: Outcome<AnyAnswer>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(op: Operation, deadline: Deadline, queueUntilMs: number) {
    this.op = op;
    this.deadline = deadline;
    this.queueUntilMs = queueUntilMs;
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<AnyAnswer>>();
    this.answered = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get settled(): boolean {
    return this.#settled;
  }

  answer(outcome: Outcome<AnyAnswer>): void {
    this.#settled = true;
    this.#resolve(outcome);
  }

  fail(error: unknown): void {
    this.#settled = true;
    this.#reject(error);
  }

  waitedTooLong(): void {
    this.fail(overloaded("waited too long for its turn; nothing was written"));
  }

  /** @param committing whether COMMIT was sent with something in it that this operation's answer rests on */
  deadlinePassed(committing: boolean): void {
    this.fail(
      committing
        ? notDurable()
        : unavailable("the database did not answer in time; nothing was written by this request"),
    );
  }
}
