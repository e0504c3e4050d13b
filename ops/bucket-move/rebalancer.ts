// Rebalancing runs in the background of the ops process, one at a time for each partition. It keeps nothing that another
// run would need: after a crash the next one goes on with the moves that are open.
import type { Logger } from "../../runtime/logger.ts";
import { type BucketMover, rebalance, type Rebalanced } from "./move-bucket.ts";

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

  constructor(mover: Omit<BucketMover, "actor">, logger: Logger) {
    this.#mover = mover;
    this.#logger = logger;
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
    await Promise.all(this.#running.values());
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
