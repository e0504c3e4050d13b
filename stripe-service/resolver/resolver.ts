// Finds this stripe's open handoffs and has them settled. Any number of instances may do so at once. What is tried when
// is kept in memory alone: during an outage nothing is written for handoffs that have to wait.
import type { Bucket } from "../../core/ids.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { Deadline, monotonicMs, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { TableSource } from "../../runtime/routing/table-source.ts";
import type { Key } from "../db/index-rows.ts";
import { type OpenAfter, type OpenState, readOpenBuckets, readOpenHandoffs } from "../db/read-open-handoffs.ts";
import { type Faults, Killed } from "../faults.ts";
import { putOffHandoff } from "../jump/defer-handoff.ts";
import type { StripeMetrics } from "../metrics.ts";
import type { Reader } from "../storage/reader.ts";
import type { Writer } from "../storage/writer.ts";
import { Patience } from "./patience.ts";
import type { Peers } from "./peers.ts";
import { type OpenKey, resolveHandoff, type ResolverContext, type RunResult } from "./resolve-handoff.ts";

export interface ResolverOptions {
  /** Whose handoffs they are. */
  readonly stripe: number;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly tables: TableSource;
  readonly peers: Peers;
  readonly faults: Faults;
  /** How often new handoffs are looked for. */
  readonly pollMs: number;
  /** Handoffs of one page. */
  readonly batchMax: number;
  /** Handoffs settled at the same time. */
  readonly parallelMax: number;
  readonly deadlineMs: number;
  readonly metrics: StripeMetrics;
  readonly logger: Logger;
}

/** An unexpected answer is asked for again after this long. */
const STUCK_RETRY_MS = 60_000;
const START: OpenAfter = { bucket: -1, mchid: "", outTradeNo: "" };
const STATES: readonly OpenState[] = ["PENDING", "CLAIMED"];

export class Resolver {
  readonly #options: ResolverOptions;
  readonly #context: ResolverContext;
  readonly #patience: Patience;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #lastFault: string | null = null;

  constructor(options: ResolverOptions) {
    const { stripe: own, writer, peers, tables, faults, deadlineMs } = options;
    this.#options = options;
    this.#patience = new Patience(peers);
    this.#context = {
      writer,
      peers,
      deadlineMs,
      home: ({ bucket }) => homeOf(tables, own, bucket),
      stripe: (stripe) => tables.current?.stripe(stripe),
      passing: async (moment, step, key) => {
        await faults.at(`resolver.${moment}-step-${step}`, key.outTradeNo);
      },
    };
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const startedMs = monotonicMs();
      const settled = await this.#cycle().catch((error: unknown) => this.#failed(error));
      // Looking at many that have to wait must not keep the database busy.
      const pauseMs = settled > 0 ? this.#options.pollMs : Math.max(this.#options.pollMs, monotonicMs() - startedMs);
      await sleep(pauseMs, signal);
    }
  }

  #failed(error: unknown): 0 {
    const { code, name } = error as Error & { code?: string };
    const fault = code ?? name;
    if (fault !== this.#lastFault) this.#options.logger.warn({ code: fault }, "open handoffs cannot be read");
    this.#lastFault = fault;
    return 0;
  }

  /** Once through all open handoffs whose home may answer. @returns how many were settled */
  async #cycle(): Promise<number> {
    let settled = 0;
    const open = await this.#openBuckets();
    for (const state of STATES) {
      const buckets = (open.get(state) ?? []).filter((bucket) => this.#mayAnswer(bucket));
      if (buckets.length > 0) settled += await this.#pages(state, buckets);
    }
    this.#lastFault = null;
    return settled;
  }

  async #openBuckets(): Promise<Map<OpenState, number[]>> {
    const deadline = new Deadline(this.#options.deadlineMs);
    const { rows } = await this.#options.reader.primary(deadline, (db) => readOpenBuckets(db, STATES));
    const open = new Map<OpenState, number[]>();
    for (const { state, open_bucket: bucket } of rows) {
      if (state !== null && bucket !== null) open.set(state, [...(open.get(state) ?? []), bucket]);
    }
    return open;
  }

  #mayAnswer(bucket: number): boolean {
    const home = homeOf(this.#options.tables, this.#options.stripe, bucket);
    return home !== undefined && this.#options.peers.available(home.stripe);
  }

  async #pages(state: OpenState, buckets: readonly number[]): Promise<number> {
    const { batchMax, deadlineMs, reader } = this.#options;
    let after = START;
    let settled = 0;
    while (!this.#stop.signal.aborted) {
      const { rows } = await reader.primary(new Deadline(deadlineMs), (db) =>
        readOpenHandoffs(db, state, buckets, after, batchMax),
      );
      const page = rows.flatMap((row) => (row.mchid === null ? [] : [openKey(row as Required<OpenRow>)]));
      settled += await this.#settle(page);
      const last = page.at(-1)?.key;
      if (last === undefined || page.length < batchMax) break;
      after = last;
    }
    return settled;
  }

  async #settle(page: readonly OpenKey[]): Promise<number> {
    const due = page.filter((open) => this.#patience.due(open.key, this.#context.home(open.key)?.stripe));
    let next = 0;
    let settled = 0;
    const worker = async (): Promise<void> => {
      for (let open = due[next++]; open !== undefined && !this.#stop.signal.aborted; open = due[next++]) {
        if (await this.#one(open)) settled += 1;
      }
    };
    await Promise.all(Array.from({ length: this.#options.parallelMax }, worker));
    return settled;
  }

  async #one(open: OpenKey): Promise<boolean> {
    const { metrics, logger, tables } = this.#options;
    const result = await resolveHandoff(this.#context, open).catch(crashed);
    metrics.handoffRuns.inc({ result: result.kind });
    if (result.kind === "later" && result.refresh === true) await tables.refresh();
    if (result.kind === "stuck") {
      logger.error({ transaction_id: open.transactionId, reason: result.reason }, "a handoff cannot be settled");
      await this.#putOff(open.key, result.reason);
    }
    this.#patience.note(open.key, result);
    return result.kind === "done";
  }

  async #putOff(key: Key, reason: string): Promise<void> {
    const { writer, deadlineMs } = this.#options;
    await writer
      .run(new Deadline(deadlineMs), {}, (tx) => putOffHandoff(tx, key, STUCK_RETRY_MS, reason))
      .catch(() => undefined); // then it is only remembered here
  }
}

/** A run that a fault point ended leaves what it had done; anything else is a fault of ours. */
function crashed(error: unknown): RunResult {
  if (error instanceof Killed) return { kind: "later", reason: "killed" };
  return { kind: "stuck", reason: (error as Error).message };
}

/** The bucket's home in the partition of this stripe: doubles of a number are settled where they were made. */
function homeOf(tables: TableSource, own: number, bucket: number): StripeRow | undefined {
  const view = tables.current;
  const partition = view?.stripe(own)?.partition;
  return partition === undefined ? undefined : view?.home(partition, bucket as Bucket);
}

interface OpenRow {
  readonly open_bucket: number;
  readonly mchid: string;
  readonly out_trade_no: string;
  readonly transaction_id: string;
  readonly request_hash: string;
}

function openKey(row: OpenRow): OpenKey {
  return {
    key: { bucket: row.open_bucket, mchid: row.mchid, outTradeNo: row.out_trade_no },
    transactionId: row.transaction_id,
    requestHash: row.request_hash,
  };
}
