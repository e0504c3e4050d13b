// Where a create may go, most preferred first: home, then this key's rendezvous order over the partition's other
// eligible stripes. A mask moves a stripe to the end; it never takes it away.
import type { Bucket, StripeNo } from "../../core/ids.ts";
import type { OrderKey } from "../../core/placement.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import type { MerchantRoute } from "../../core/partitions.ts";
import type { TableView } from "../../runtime/routing/table-view.ts";

export interface Candidate {
  readonly row: StripeRow;
  /** The proxy's view; the stripe decides by its own row. */
  readonly as: "HOME" | "JUMP";
}

export interface Plan {
  /** The bucket's home, also when it takes no creates now. */
  readonly home: StripeRow | undefined;
  readonly homeEligible: boolean;
  /** How many candidates there are. */
  readonly count: number;
  /** Those that a jump may go to, in the key's own order; most creates never ask. */
  readonly jumps: () => readonly StripeRow[];
}

/** Where a create may go. A strict merchant has no candidate but home. */
export function planCreate(view: TableView, route: MerchantRoute, key: OrderKey, bucket: Bucket): Plan {
  const { partition } = route;
  const home = view.home(partition, bucket);
  const eligible = view.takers(partition);
  const homeEligible = home !== undefined && eligible.includes(home);
  const strict = route.createPolicy === "strict";
  const count = strict ? Number(homeEligible) : eligible.length;
  const jumps = (): readonly StripeRow[] =>
    strict ? [] : view.inKeyOrder(eligible, key).filter((row) => row !== home);
  return { home, homeEligible, count, jumps };
}

/** A plan's candidates one by one as they are asked for: those that are admitted now, then the masked ones. */
export class Turns {
  readonly #plan: Pick<Plan, "home" | "homeEligible" | "jumps">;
  readonly #admit: (stripe: StripeNo) => boolean;
  readonly #onMasked: (stripe: StripeNo) => void;
  readonly #masked: Candidate[] = [];
  #jumps: readonly StripeRow[] | undefined;
  /** In `#jumps`; before it comes home. */
  #at = -1;

  /**
   * @param admit asked once for each, when its turn comes; may make the caller the trial of a mask
   * @param onMasked told of each that is put off
   */
  constructor(
    plan: Pick<Plan, "home" | "homeEligible" | "jumps">,
    admit: (stripe: StripeNo) => boolean,
    onMasked: (stripe: StripeNo) => void,
  ) {
    this.#plan = plan;
    this.#admit = admit;
    this.#onMasked = onMasked;
  }

  /** Undefined: there are no more. */
  next(): Candidate | undefined {
    for (;;) {
      const candidate = this.#nextInOrder();
      if (candidate === undefined) return this.#masked.shift();
      if (this.#admit(candidate.row.stripe)) return candidate;
      this.#onMasked(candidate.row.stripe);
      this.#masked.push(candidate);
    }
  }

  #nextInOrder(): Candidate | undefined {
    const { home, homeEligible, jumps } = this.#plan;
    const at = this.#at;
    this.#at += 1;
    if (at < 0 && home !== undefined && homeEligible) return { row: home, as: "HOME" };
    if (at < 0) return this.#nextInOrder();
    this.#jumps ??= jumps();
    const row = this.#jumps[at];
    return row === undefined ? undefined : { row, as: "JUMP" };
  }
}
