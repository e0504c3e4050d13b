// Three real stripes on one MySQL server, for scripted traces: creates are sent to stripes as proxies would send them,
// and runs of the resolver are started one by one, each with its own interruptions.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { Agent } from "undici";
import { type StripeNo, stripeNo } from "../../../core/ids.ts";
import { requestHash } from "../../../core/order-content.ts";
import { mintTransactionId } from "../../../core/order-number.ts";
import { bucketOf } from "../../../core/placement.ts";
import type { StripeRow } from "../../../core/routing-table.ts";
import type { CreateOrder } from "../../../core/schemas/orders.ts";
import { kernelPort } from "../../../local-cluster/free-port.ts";
import { type ScratchServer, startScratchServer } from "../../../local-cluster/scratch-server.ts";
import { BucketClient } from "../../../ops/bucket-move/bucket-client.ts";
import { type AfterStep, carryBucket } from "../../../ops/bucket-move/carry-bucket.ts";
import { Deadline, wallNowMs } from "../../../runtime/clock.ts";
import { configFrom } from "../../../stripe-service/config.ts";
import { Database } from "../../../stripe-service/database.ts";
import type { Key } from "../../../stripe-service/db/index-rows.ts";
import { Killed, type ResolverStep } from "../../../stripe-service/faults.ts";
import { sweepExpired } from "../../../stripe-service/orders/sweep-expired.ts";
import { Peers } from "../../../stripe-service/resolver/peers.ts";
import { resolveHandoff, type RunResult } from "../../../stripe-service/resolver/resolve-handoff.ts";
import { StripeService } from "../../../stripe-service/service.ts";
import { freshNo } from "../../support/orders-api.ts";
import { seedStripe, type StripeDatabase } from "../../support/stripe-database.ts";
import { type StripeAnswer, StripeClient } from "../../support/stripe-harness.ts";
import { brokenDrained, type NumberFacts, type OrderFact, readFacts, survivorOf } from "./facts.ts";

process.env.LOG_LEVEL ??= "silent";

export const STRIPES = [1, 2, 3] as const;
/** Home of every bucket at the start. */
export const HOME = 1;
const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const RUNS_MAX = 20;
const CALL_MAX_MS = 3_000;

export type Moment = `${"before" | "after"}-${ResolverStep}`;
/** What happens when a run passes a moment. */
export type Hooks = Partial<Record<Moment, () => Promise<void>>>;

interface Member {
  readonly database: StripeDatabase;
  readonly service: StripeService;
  readonly api: StripeClient;
  /** For runs of the resolver. */
  readonly own: Database;
  readonly row: StripeRow;
}

export interface CreateOptions {
  readonly as?: "HOME" | "JUMP";
  readonly failed?: readonly string[];
  readonly description?: string;
  readonly id?: string;
}

/** Ends a run at a moment, as the death of its process would. */
export const die = (): Promise<never> => Promise.reject(new Killed("test"));

export class JumpStripes implements AsyncDisposable {
  readonly server: ScratchServer;
  readonly mchid = "m1";
  readonly #members = new Map<number, Member>();
  readonly #peers = new Peers({ connectionsMax: 16, timeoutMs: CALL_MAX_MS, retryMs: 1 }, () => 1);
  readonly #agent = new Agent({ connections: 4 });
  #sequence = randomInt(1_000_000);
  #moveEpoch = 0;
  /** What resolvers take for the home of every bucket. */
  home = HOME as number;

  private constructor(server: ScratchServer) {
    this.server = server;
  }

  static async start(): Promise<JumpStripes> {
    const stripes = new JumpStripes(await startScratchServer(RELAXED));
    try {
      for (const stripe of STRIPES) await stripes.#add(stripe);
      return stripes;
    } catch (error) {
      await stripes[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #add(stripe: number): Promise<void> {
    const database = await seedStripe(this.server, { stripe, ...(stripe === HOME ? {} : { homeBuckets: [] }) });
    const port = await kernelPort();
    const env = this.env(stripe, port);
    const service = StripeService.create(configFrom({ ...env, SWEEP_BATCHES_MAX: "0" }));
    await service.start();
    const url = `http://127.0.0.1:${port}`;
    this.#members.set(stripe, {
      database,
      service,
      api: new StripeClient(url, 1),
      own: new Database(configFrom({ ...env, WRITE_POOL_MAX: "9", PRIMARY_READ_POOL_MAX: "2" })),
      row: {
        stripe: stripeNo(stripe),
        version: 1,
        place: 1,
        tripleId: "t1",
        temperature: "hot",
        weight: 100,
        partition: "standard",
        blocked: false,
        services: [url],
      },
    });
  }

  env(stripe: number, port: number): Record<string, string> {
    const { host, port: dbPort, user, password } = this.server.target;
    const db = { HOST: host, PORT: String(dbPort) };
    return {
      PORT: String(port),
      STRIPE: String(stripe),
      PLACE: "1",
      DB_WRITER_HOST: db.HOST,
      DB_WRITER_PORT: db.PORT,
      DB_READER_HOST: db.HOST,
      DB_READER_PORT: db.PORT,
      DB_USER: user,
      DB_PASSWORD: password,
      FAULT_POINTS: "1",
    };
  }

  member(stripe: number): Member {
    const member = this.#members.get(stripe);
    if (member === undefined) throw new Error(`there is no stripe ${stripe}`);
    return member;
  }

  api(stripe: number): StripeClient {
    return this.member(stripe).api;
  }

  key(): Key {
    const outTradeNo = freshNo();
    return { mchid: this.mchid, outTradeNo, bucket: bucketOf({ mchid: this.mchid, outTradeNo }) };
  }

  nextId(stripe: number): string {
    this.#sequence += 1;
    return mintTransactionId(stripeNo(stripe), wallNowMs(), this.#sequence);
  }

  content(key: Key, description = "tea"): CreateOrder {
    return {
      mchid: key.mchid,
      out_trade_no: key.outTradeNo,
      description,
      amount: { total: 100, currency: "CNY" },
    };
  }

  /** Sends a create to a stripe, as HOME to stripe 1 and as JUMP to the others unless told otherwise. */
  send(stripe: number, key: Key, options: CreateOptions = {}): Promise<StripeAnswer> {
    const order = this.content(key, options.description);
    return this.api(stripe).post("/orders", {
      transaction_id: options.id ?? this.nextId(stripe),
      bucket: key.bucket,
      as: options.as ?? (stripe === HOME ? "HOME" : "JUMP"),
      failed: options.failed ?? [],
      request_hash: requestHash(order),
      order,
    });
  }

  /** A create that makes an order. @returns its number */
  async create(stripe: number, key: Key, options: CreateOptions = {}): Promise<string> {
    const { status, body } = await this.send(stripe, key, options);
    assert.equal(status, 201, JSON.stringify(body));
    return body.transaction_id as string;
  }

  /** Pays an order where it is. @returns the answer and the payment's number */
  async pay(id: string): Promise<{ answer: StripeAnswer; outPayNo: string }> {
    const outPayNo = freshNo("P");
    return { answer: await this.api(stripeIn(id)).pay(id, { out_pay_no: outPayNo }), outPayNo };
  }

  close(id: string): Promise<StripeAnswer> {
    return this.api(stripeIn(id)).close(id);
  }

  /** Lets the order's time run out, and sweeps. */
  async expire(id: string): Promise<void> {
    const { database, own } = this.member(stripeIn(id));
    await database.sql(
      "UPDATE orders SET time_expire = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE transaction_id = ?",
      [id],
    );
    const outcome = await own.writer.run(new Deadline(CALL_MAX_MS), {}, (tx) => sweepExpired(tx, 100));
    assert.ok(outcome.ok);
  }

  /** One run of the resolver for the handoff of a key in a stripe. */
  async resolve(stripe: number, key: Key, hooks: Hooks = {}): Promise<RunResult | "killed"> {
    const { own, database } = this.member(stripe);
    const [row] = await database.sql(
      "SELECT transaction_id, LOWER(HEX(request_hash)) AS hash FROM handoffs WHERE mchid = ? AND out_trade_no = ?",
      [key.mchid, key.outTradeNo],
    );
    assert.ok(row !== undefined, "there is a handoff");
    const { home } = this;
    const context = {
      writer: own.writer,
      peers: this.#peers,
      deadlineMs: CALL_MAX_MS,
      home: () => this.member(home).row,
      stripe: (n: number) => this.#members.get(n)?.row,
      passing: async (moment: "before" | "after", step: ResolverStep) => hooks[`${moment}-${step}`]?.(),
    };
    const open = { key, transactionId: String(row.transaction_id), requestHash: String(row.hash) };
    return resolveHandoff(context, open).catch((error: unknown) => {
      if (error instanceof Killed) return "killed";
      throw error;
    });
  }

  /** Runs the resolver until every handoff of the key is DONE. */
  async drain(key: Key): Promise<void> {
    for (let run = 0; run < RUNS_MAX; run++) {
      const open = (await this.facts(key)).handoffs.filter(({ state }) => state !== "DONE");
      if (open.length === 0) return;
      for (const { stripe } of open) await this.resolve(stripe, key);
    }
    throw new Error("handoffs stay open");
  }

  async facts(key: Key): Promise<NumberFacts> {
    const databases = new Map([...this.#members].map(([stripe, { database }]) => [stripe, database]));
    const all = await readFacts(databases, key.mchid, () => key.bucket, key.outTradeNo);
    const facts = all.get(key.outTradeNo);
    assert.ok(facts !== undefined, "the number is known somewhere");
    return facts;
  }

  /** Drains, checks every invariant, and gives the order that stands. */
  async settled(key: Key): Promise<OrderFact> {
    await this.drain(key);
    const facts = await this.facts(key);
    assert.deepEqual(brokenDrained(facts, this.home), []);
    const survivor = survivorOf(facts);
    assert.ok(survivor !== undefined);
    return survivor;
  }

  async order(id: string): Promise<StripeAnswer["body"]> {
    return (await this.api(stripeIn(id)).get(`/orders/${id}`)).body;
  }

  async pointer(stripe: number, key: Key): Promise<string | undefined> {
    return (await this.facts(key)).pointers.get(stripe);
  }

  bucketClient(stripe: number, bucket: number): BucketClient {
    return new BucketClient(this.member(stripe).row, bucket, this.#agent, CALL_MAX_MS);
  }

  nextMoveEpoch(): number {
    this.#moveEpoch += 1;
    return this.#moveEpoch;
  }

  /** Moves a bucket's home; resolvers learn of it by setting {@link home}. */
  async move(bucket: number, from: number, to: number, afterStep: AfterStep = async () => {}): Promise<number> {
    const epoch = this.nextMoveEpoch();
    await carryBucket(this.bucketClient(from, bucket), this.bucketClient(to, bucket), epoch, afterStep);
    return epoch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peers.close();
    await this.#agent.destroy();
    for (const { api, service, own, database } of this.#members.values()) {
      await api.stop();
      await service[Symbol.asyncDispose]();
      await own.close();
      await database.close();
    }
    await this.server[Symbol.asyncDispose]();
  }
}

export function stripeIn(transactionId: string): StripeNo {
  return stripeNo(Number(transactionId.slice(2, 6)));
}

/** A place where a run waits until it is let go. */
export class Gate {
  readonly reached: Promise<void>;
  readonly #opened: Promise<void>;
  #reach: () => void = () => {};
  #open: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** For a hook: waits here. */
  readonly wait = (): Promise<void> => {
    this.#reach();
    return this.#opened;
  };

  open(): void {
    this.#open();
  }
}
