// Who is shed first when a stripe's places run out: pure. As long as there is room everybody gets in. In the last
// quarter only those get in who hold less than their share, one share being kept for somebody who has none yet. So a
// merchant with far more traffic than the others is refused before they are, and cannot keep a newcomer out.

/** The part of the places that is open to all. */
export const OPEN_SHARE = 0.75;

export type Admission = "admitted" | "full" | "hot_merchant";

/** Bookkeeping is one entry for each merchant that has something in flight: never more than there are places. */
export class FairShare {
  readonly #held = new Map<string, number>();
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Merchants with something in flight. */
  get merchants(): number {
    return this.#held.size;
  }

  /**
   * Takes a place, unless it is refused; whoever is admitted must `leave` with the same merchant.
   * @param merchant undefined for what belongs to no known merchant: refused only when all places are taken
   * @param places how many there are now
   * @param yields refused as soon as the last quarter is reached
   */
  enter(merchant: string | undefined, places: number, yields = false): Admission {
    const held = merchant === undefined ? 0 : (this.#held.get(merchant) ?? 0);
    const share = Math.max(1, places / (this.#held.size + 1));
    const full = this.#inFlight >= (yields ? OPEN_SHARE * places : places);
    const hot = this.#inFlight >= OPEN_SHARE * places && held >= share;
    // All places taken, and nobody else is there to be fair to: that is simply full.
    if (hot && !(full && this.#held.size === 1)) return "hot_merchant";
    if (full) return "full";
    if (merchant !== undefined) this.#held.set(merchant, held + 1);
    this.#inFlight += 1;
    return "admitted";
  }

  leave(merchant: string | undefined): void {
    this.#inFlight -= 1;
    if (merchant === undefined) return;
    const held = this.#held.get(merchant) ?? 0;
    if (held > 1) this.#held.set(merchant, held - 1);
    else this.#held.delete(merchant);
  }
}
