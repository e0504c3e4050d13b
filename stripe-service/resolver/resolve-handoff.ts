// Settles one jumped order: which of the orders of its merchant number stands. It may run at any time, any number of
// times, several at once, and be cut off anywhere; a later run begins at step 1 again. Every decision is a conditional
// update in the stripe of the row that it is about.
import type { DomainError } from "../../core/errors.ts";
import { parseTransactionId } from "../../core/order-number.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import {
  type SupersedeClaim,
  type WireClaim,
  wirePointerSchema,
  type WireRepoint,
  type WireSupersede,
  wireSupersedeAnswerSchema,
} from "../../core/schemas/wire-jump.ts";
import type { TransactionId } from "../../core/ids.ts";
import { Deadline } from "../../runtime/clock.ts";
import type { Key } from "../db/index-rows.ts";
import type { ResolverStep } from "../faults.ts";
import type { IndexPointer } from "../jump/claim-key.ts";
import { decideHandoff, finishHandoff, giveWay } from "../jump/settle.ts";
import type { Outcome, Tx } from "../orders/tx.ts";
import type { Writer } from "../storage/writer.ts";
import type { PeerAnswer, Peers } from "./peers.ts";

/** Each restart means that the pointer has moved on, and a pointer never returns; more than this is for a later run. */
const RESTARTS_MAX = 4;

export interface OpenKey {
  readonly key: Key;
  readonly transactionId: string;
  /** SHA-256, hex. */
  readonly requestHash: string;
}

export interface ResolverContext {
  readonly writer: Writer;
  readonly peers: Peers;
  readonly deadlineMs: number;
  /** The bucket's home by the newest table, for the merchant's partition. */
  home(key: Key): StripeRow | undefined;
  stripe(stripe: number): StripeRow | undefined;
  /** Passed before and after each step. @throws to end the run there, as a crash would */
  passing(moment: "before" | "after", step: ResolverStep, key: Key): Promise<void>;
}

export type RunResult =
  | { readonly kind: "done" }
  /** A stripe does not answer: again when it does. */
  | { readonly kind: "away"; readonly stripe: number }
  /** Between two homes, a table that is behind, or an own database that is busy: again soon. */
  | { readonly kind: "later"; readonly reason: string; readonly refresh?: boolean }
  /** An answer nobody expected. */
  | { readonly kind: "stuck"; readonly reason: string };

/** A step's end that is the end of the run. */
class Stop extends Error {
  readonly result: RunResult;

  constructor(result: RunResult) {
    super(result.kind);
    this.result = result;
  }
}

/** @throws what `passing` throws */
export async function resolveHandoff(context: ResolverContext, open: OpenKey): Promise<RunResult> {
  const run = new Run(context, open);
  try {
    for (let restart = 0; restart <= RESTARTS_MAX; restart++) {
      if (await run.once()) return { kind: "done" };
    }
    return { kind: "later", reason: "the pointer keeps moving" };
  } catch (error) {
    if (error instanceof Stop) return error.result;
    throw error;
  }
}

class Run {
  readonly #context: ResolverContext;
  readonly #open: OpenKey;

  constructor(context: ResolverContext, open: OpenKey) {
    this.#context = context;
    this.#open = open;
  }

  /** @returns whether the handoff is settled; false: begin again at step 1 */
  async once(): Promise<boolean> {
    const { key, transactionId } = this.#open;
    const pointer = await this.#step("1", () => this.#claim());
    if (pointer.transactionId === transactionId) return this.#finish();
    const decision = await this.#step("2", () => this.#local((tx) => decideHandoff(tx, key, pointer)));
    if (decision.next === "end") return true;
    const answer = await this.#step("3", () => this.#supersede(pointer.transactionId, decision.claim));
    if (answer !== "YIELDS") return this.#local((tx) => giveWay(tx, key, pointer.transactionId, answer));
    const now = await this.#step("4a", () => this.#repoint(pointer.transactionId));
    return now.transactionId === transactionId ? this.#finish() : false;
  }

  async #step<T>(step: ResolverStep, work: () => Promise<T>): Promise<T> {
    await this.#context.passing("before", step, this.#open.key);
    const value = await work();
    await this.#context.passing("after", step, this.#open.key);
    return value;
  }

  async #finish(): Promise<true> {
    await this.#local((tx) => finishHandoff(tx, this.#open.key));
    return true;
  }

  async #claim(): Promise<IndexPointer> {
    const { key, transactionId, requestHash } = this.#open;
    const body: WireClaim = { ...wireKey(key), transaction_id: asId(transactionId), request_hash: requestHash };
    const home = this.#home();
    return pointerOf(await this.#ask(home, { path: "/claims", body, schema: wirePointerSchema }));
  }

  async #supersede(pointer: string, claim: SupersedeClaim): Promise<"YIELDS" | "STAYS" | "STAYS_PAID"> {
    const { key, transactionId } = this.#open;
    const { stripe } = parseTransactionId(pointer);
    const row = this.#context.stripe(stripe);
    if (row === undefined)
      throw new Stop({ kind: "later", reason: "the pointer's stripe is not known", refresh: true });
    const body: WireSupersede = {
      mchid: key.mchid,
      out_trade_no: key.outTradeNo,
      by: asId(transactionId),
      claim,
    };
    const path = `/orders/${pointer}/supersede`;
    return (await this.#ask(row, { path, body, schema: wireSupersedeAnswerSchema })).answer;
  }

  async #repoint(from: string): Promise<IndexPointer> {
    const { key, transactionId, requestHash } = this.#open;
    const body: WireRepoint = {
      ...wireKey(key),
      from: asId(from),
      to: asId(transactionId),
      request_hash: requestHash,
    };
    // The home is asked for again: the bucket may have moved since step 1.
    return pointerOf(await this.#ask(this.#home(), { path: "/index/repoint", body, schema: wirePointerSchema }));
  }

  #home(): StripeRow {
    const home = this.#context.home(this.#open.key);
    if (home === undefined) throw new Stop({ kind: "later", reason: "the bucket has no home", refresh: true });
    return home;
  }

  async #ask<T>(
    row: StripeRow,
    call: Parameters<Peers["post"]>[1] & { schema: { parse(value: unknown): T } },
  ): Promise<T> {
    const answer = (await this.#context.peers.post(row, call)) as PeerAnswer<T>;
    switch (answer.kind) {
      case "ok":
        return answer.value;
      case "away":
        throw new Stop({ kind: "away", stripe: row.stripe });
      case "unclear":
        throw new Stop({ kind: "later", reason: "an unclear answer" });
      case "misdirected":
        throw new Stop({ kind: "later", reason: "misdirected", refresh: true });
      case "refused":
        throw new Stop({
          kind: "stuck",
          reason: `stripe ${row.stripe} ${call.path.split("/").at(-1)}: ${answer.reason}`,
        });
      default:
        return answer satisfies never;
    }
  }

  /** A step in this stripe's own database. */
  async #local<T>(useCase: (tx: Tx) => Promise<Outcome<T>>): Promise<T> {
    const { writer, deadlineMs } = this.#context;
    let outcome: Outcome<T>;
    try {
      outcome = await writer.run(new Deadline(deadlineMs), {}, useCase);
    } catch (error) {
      throw new Stop({ kind: "later", reason: (error as Partial<DomainError>).code ?? (error as Error).name });
    }
    if (outcome.ok) return outcome.value;
    throw new Stop({ kind: "later", reason: outcome.error.code });
  }
}

function wireKey({ mchid, outTradeNo, bucket }: Key): { mchid: string; out_trade_no: string; bucket: number } {
  return { mchid, out_trade_no: outTradeNo, bucket };
}

/** A number read from our own rows, which hold only valid ones. */
function asId(text: string): TransactionId {
  return text as TransactionId;
}

function pointerOf(wire: { transaction_id: string; request_hash: string }): IndexPointer {
  return { transactionId: wire.transaction_id, requestHash: wire.request_hash };
}
