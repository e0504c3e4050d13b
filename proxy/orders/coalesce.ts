import { tooManyInFlight } from "../overload/too-many.ts";
import type { MerchantAnswer } from "../upstream/answers.ts";

/**
 * Identical creates that are in the proxy at the same time are one create: an impatient caller, or many of them, must
 * not queue up behind one row of the stripe until some of them time out and jump. Whoever joins one holds nothing but a
 * place among all requests in flight, of which one merchant may not take all.
 */
export class CoalescedCreates {
  readonly #running = new Map<string, Promise<MerchantAnswer>>();
  readonly #joinedMax: number;
  /** By merchant, those that have joined. */
  readonly #joined = new Map<string, number>();

  /** @param joinedMax of one merchant at the same time */
  constructor(joinedMax: number) {
    this.#joinedMax = joinedMax;
  }

  /**
   * @param key merchant number and content
   * @param work is not called when a create of this key runs already; its answer then counts as a replay
   * @throws DomainError RATELIMIT_EXCEEDED when too many of the merchant's have joined others
   */
  run(key: string, mchid: string, work: () => Promise<MerchantAnswer>): Promise<MerchantAnswer> {
    const running = this.#running.get(key);
    if (running !== undefined) return this.#join(mchid, running);
    const own = work();
    this.#running.set(key, own);
    const forget = (): void => void this.#running.delete(key);
    own.then(forget, forget);
    return own;
  }

  async #join(mchid: string, running: Promise<MerchantAnswer>): Promise<MerchantAnswer> {
    const joined = this.#joined.get(mchid) ?? 0;
    if (joined >= this.#joinedMax) throw tooManyInFlight();
    this.#joined.set(mchid, joined + 1);
    try {
      const { body } = await running;
      return { status: 200, headers: { "idempotent-replayed": "true" }, body };
    } finally {
      const left = (this.#joined.get(mchid) ?? 1) - 1;
      if (left > 0) this.#joined.set(mchid, left);
      else this.#joined.delete(mchid);
    }
  }
}
