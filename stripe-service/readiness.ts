// Watches whether this instance can serve: the writer answers, it is the stripe's place, and its schema is one that
// this code can work with. A database that is away is waited for; a schema that does not fit is told and not served.
import { DomainError } from "../core/errors.ts";
import { schemaFault, STRIPE_SCHEMA_REQUIRED } from "../core/schema-versions.ts";
import { Deadline, sleep } from "../runtime/clock.ts";
import type { Readiness } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/logger.ts";
import { readFence } from "./db/read-fence.ts";
import { readMigrations } from "./db/read-migrations.ts";
import { servingFence } from "./orders/tx.ts";
import { bounded } from "./storage/bounded.ts";
import type { SessionPool } from "./storage/session-pool.ts";

export interface MonitorOptions {
  readonly pool: SessionPool;
  readonly place: number;
  readonly intervalMs: number;
  readonly deadlineMs: number;
  readonly logger: Logger;
}

export class ReadinessMonitor {
  readonly #options: MonitorOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #why: string | null = "not checked yet";
  #schema: "unknown" | "fits" | "unfit" = "unknown";
  #routingVersion = 0;

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  /** The newest routing version seen in the database. */
  get routingVersion(): number {
    return this.#routingVersion;
  }

  get readiness(): Readiness {
    return this.#why === null
      ? { ready: true, detail: { routing_version: this.#routingVersion } }
      : { ready: false, detail: { reason: this.#why } };
  }

  /** @throws DomainError STRIPE_UNAVAILABLE until the schema has been seen to fit */
  requireFittingSchema(): void {
    if (this.#schema === "fits") return;
    throw new DomainError("STRIPE_UNAVAILABLE", `not ready: ${this.#why}`, { retryAfterS: 1 });
  }

  /** First check, then one after each interval. @throws Error when the schema was read and does not fit */
  async start(): Promise<void> {
    await this.#check();
    if (this.#schema === "unfit") throw new Error(this.#why ?? "the schema does not fit");
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(this.#options.intervalMs, signal);
      if (!signal.aborted) await this.#check();
    }
  }

  async #check(): Promise<void> {
    const why = await this.#look().catch(reasonOf);
    if (why !== this.#why) this.#options.logger.info({ ready: why === null, reason: why }, "readiness");
    this.#why = why;
  }

  /** @returns why not ready, or null */
  async #look(): Promise<string | null> {
    const deadline = new Deadline(this.#options.deadlineMs);
    const session = await this.#options.pool.take(deadline);
    try {
      const fault = schemaFault(
        await bounded(readMigrations(session.db), deadline.remainingMs()),
        STRIPE_SCHEMA_REQUIRED,
      );
      this.#schema = fault === null ? "fits" : "unfit";
      if (fault === null) {
        const rows = await bounded(readFence(session.db, [], "NONE"), deadline.remainingMs());
        this.#routingVersion = rows[0]?.routing_version ?? this.#routingVersion;
        servingFence(rows, { place: this.#options.place });
      }
      session.release();
      return fault;
    } catch (error) {
      session.destroy();
      throw error;
    }
  }
}

/** What the check says of a failure: a code, and the server's error number when it gave one. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the check failed";
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return error instanceof DomainError ? `${error.code}: ${error.message}${cause}` : error.name;
}
