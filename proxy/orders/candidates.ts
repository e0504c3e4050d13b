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
  /** In preference order, masks not considered. Lazy: most creates never need more than the first. */
  readonly candidates: Iterable<Candidate>;
}

/** Where a create may go. A strict merchant has no candidate but home. */
export function planCreate(view: TableView, route: MerchantRoute, key: OrderKey, bucket: Bucket): Plan {
  const { partition } = route;
  const home = view.home(partition, bucket);
  const eligible = view.takers(partition);
  const homeEligible = home !== undefined && eligible.includes(home);
  const strict = route.createPolicy === "strict";
  const count = strict ? Number(homeEligible) : eligible.length;
  const candidates = function* (): Generator<Candidate, undefined> {
    if (homeEligible) yield { row: home, as: "HOME" };
    if (strict) return;
    for (const row of view.inKeyOrder(eligible, key)) if (row !== home) yield { row, as: "JUMP" };
  };
  return { home, homeEligible, count, candidates: candidates() };
}

/**
 * The candidates one by one as they are asked for: those that are admitted now, then the masked ones.
 * @param admit asked once for each, when its turn comes; may make the caller the trial of a mask
 * @param onMasked told of each that is put off
 */
export function* preferUnmasked(
  candidates: Iterable<Candidate>,
  admit: (stripe: StripeNo) => boolean,
  onMasked: (stripe: StripeNo) => void,
): Generator<Candidate, undefined> {
  const masked: Candidate[] = [];
  for (const candidate of candidates) {
    if (admit(candidate.row.stripe)) {
      yield candidate;
    } else {
      onMasked(candidate.row.stripe);
      masked.push(candidate);
    }
  }
  yield* masked;
}
