// Rebalancing runs in the background of the ops process, one at a time for each partition. It keeps nothing that another
// run would need. Moves that were begun and could not be finished, by whoever, are gone on with by themselves.
import type { Logger } from "../../runtime/logger.ts";
import { sleep } from "../../runtime/clock.ts";
import { partitionsWithOpenMoves } from "../db/bucket-moves.ts";
import { type BucketMover, finishOpenMoves, rebalance, type Rebalanced } from "./move-bucket.ts";

/** How often open moves that nobody carries are looked for. */
const RESUME_EVERY_MS = 2_000;
const RESUMER = "ops";

export interface RebalanceState extends Rebalanced {
  readonly state: "RUNNING" | "DONE" | "FAILED";
  /** Of FAILED. */
  readonly reason?: string;
}

export class Rebalancer {
  readonly #mover: Omit<BucketMover, "actor">;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  /** The latest run of each partition. */
  readonly #states = new Map<string, RebalanceState>();
  readonly #running = new Map<string, Promise<void>>();
  #resuming: Promise<void> = Promise.resolve();
  /** By partition, what was told last of open moves: they may wait for a stripe for hours. */
  readonly #toldLeft = new Map<string, number>();

  constructor(mover: Omit<BucketMover, "actor">, logger: Logger) {
    this.#mover = mover;
    this.#logger = logger;
  }

  /** Begins to look for moves that were left open. */
  startResuming(): void {
    this.#resuming = this.#resume();
  }

  /** Starts a run unless one is under way. @returns its state */
  start(partition: string, actor: string): RebalanceState {
    const running = this.#states.get(partition);
    if (running?.state === "RUNNING") return running;
    const state: RebalanceState = { state: "RUNNING", planned: 0, moved: 0, left: 0 };
    this.#states.set(partition, state);
    const run = this.#run(partition, actor).finally(() => this.#running.delete(partition));
    this.#running.set(partition, run);
    return state;
  }

  state(partition: string): RebalanceState | undefined {
    return this.#states.get(partition);
  }

  /** The bucket that is being moved is finished, the others wait for the next run. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#running.values(), this.#resuming]);
  }

  async #resume(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(RESUME_EVERY_MS, signal);
      try {
        for (const partition of await partitionsWithOpenMoves(this.#mover.control)) {
          if (this.#running.has(partition) || signal.aborted) continue;
          const left = await finishOpenMoves({ ...this.#mover, actor: RESUMER }, partition, signal);
          if (left > 0 && left === this.#toldLeft.get(partition)) continue;
          this.#toldLeft.set(partition, left);
          this.#logger.info({ partition, left }, "went on with bucket moves that were open");
        }
      } catch (error) {
        this.#logger.warn({ err: error }, "bucket moves that are open could not be gone on with");
      }
    }
  }

  async #run(partition: string, actor: string): Promise<void> {
    const set = (state: RebalanceState): void => void this.#states.set(partition, state);
    try {
      const result = await rebalance({ ...this.#mover, actor }, partition, {
        signal: this.#stop.signal,
        onProgress: (progress) => set({ state: "RUNNING", ...progress }),
      });
      set({ state: "DONE", ...result });
      this.#logger.info({ partition, ...result }, "buckets rebalanced");
    } catch (error) {
      const { planned, moved, left } = this.#states.get(partition) ?? { planned: 0, moved: 0, left: 0 };
      set({ state: "FAILED", planned, moved, left, reason: (error as Error).message });
      this.#logger.error({ err: error, partition }, "rebalancing failed");
    }
  }
}
