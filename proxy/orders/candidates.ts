// Where a create may go, most preferred first: home, then this key's rendezvous order over the partition's other
// eligible stripes. A mask moves a stripe to the end; it never takes it away.
import type { Bucket, StripeNo } from "../../core/ids.ts";
import type { OrderKey } from "../../core/placement.ts";
import { type StripeRow, takesCreates } from "../../core/routing-table.ts";
import type { MerchantRoute, TableView } from "../routing/table-view.ts";

export interface Candidate {
  readonly row: StripeRow;
  /** The proxy's view; the stripe decides by its own row. */
  readonly as: "HOME" | "JUMP";
}

export interface Plan {
  /** The bucket's home, also when it takes no creates now. */
  readonly home: StripeRow | undefined;
  readonly homeEligible: boolean;
  readonly candidates: readonly Candidate[];
}

/** All candidates in preference order, masks not considered. A strict merchant has none but home. */
export function planCreate(view: TableView, route: MerchantRoute, key: OrderKey, bucket: Bucket): Plan {
  const { partition } = route;
  const home = view.home(partition, bucket);
  const homeEligible = home !== undefined && takesCreates(home, partition);
  const first: Candidate[] = homeEligible ? [{ row: home, as: "HOME" }] : [];
  if (route.createPolicy === "strict") return { home, homeEligible, candidates: first };
  const others = view
    .inKeyOrder(partition, key)
    .filter((row) => row.stripe !== home?.stripe && takesCreates(row, partition))
    .map((row): Candidate => ({ row, as: "JUMP" }));
  return { home, homeEligible, candidates: [...first, ...others] };
}

/**
 * The candidates one by one as they are asked for: those that are admitted now, then the masked ones.
 * @param admit asked once for each, when its turn comes; may make the caller the trial of a mask
 * @param onMasked told of each that is put off
 */
export function* preferUnmasked(
  candidates: readonly Candidate[],
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
