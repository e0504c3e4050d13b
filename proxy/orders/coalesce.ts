import type { MerchantAnswer } from "../upstream/answers.ts";

/**
 * Identical creates that are in the proxy at the same time are one create: an impatient caller, or many of them, must
 * not queue up behind one row of the stripe until some of them time out and jump. At most as many as there are requests
 * in flight.
 */
export class CoalescedCreates {
  readonly #running = new Map<string, Promise<MerchantAnswer>>();

  /**
   * @param key merchant number and content
   * @param work is not called when a create of this key runs already; its answer then counts as a replay
   */
  async run(key: string, work: () => Promise<MerchantAnswer>): Promise<MerchantAnswer> {
    const running = this.#running.get(key);
    if (running !== undefined) {
      const { body } = await running;
      return { status: 200, headers: { "idempotent-replayed": "true" }, body };
    }
    const own = work();
    this.#running.set(key, own);
    try {
      return await own;
    } finally {
      this.#running.delete(key);
    }
  }
}
