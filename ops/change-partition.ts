// A stripe goes over to another partition. Its orders stay with it and are found by their numbers; but it must be home
// to no bucket any more and hold no jumped order that is not settled, because both belong to the partition it leaves.
import type { Knex } from "knex";
import { DomainError } from "../core/errors.ts";
import type { StripeRow } from "../core/routing-table.ts";
import type { WireStats } from "../core/schemas/wire.ts";
import { readRoutingVersion } from "./db/bump-routing-version.ts";
import { countOpenMovesOf } from "./db/open-moves-of.ts";
import { type Change, type StripePatch, updateStripe } from "./db/update-stripe.ts";
import { type Reconciler, wantedState } from "./reconciler.ts";
import type { StripeClient } from "./stripe-client.ts";

/**
 * The stripe's own row goes first: from its change on it refuses whoever takes it to be in the old partition, so what
 * is counted after it cannot grow. The table follows.
 * @param row as the operator saw it
 * @throws DomainError STATE_NOT_ALLOWED (nothing is changed then), STRIPE_UNAVAILABLE, and what `updateStripe` throws
 */
export async function changePartition(
  deps: { readonly control: Knex; readonly stripes: StripeClient; readonly reconciler: Reconciler },
  row: StripeRow & { readonly buckets: number },
  patch: StripePatch & { readonly partition: string },
  change: Change,
): Promise<StripeRow> {
  const { control, stripes, reconciler } = deps;
  return reconciler.holding(row.stripe, async () => {
    if (row.buckets > 0) throw homeTo(row, row.buckets);
    if ((await countOpenMovesOf(control, row.stripe)) > 0) throw no(row, "takes part in a bucket move that is open");
    refuseUnlessFree(row, await stripes.stats(row));
    const wanted = wantedState({ ...row, partition: patch.partition }, await readRoutingVersion(control));
    try {
      if (!(await stripes.setState(row, wanted))) throw away(row);
      refuseUnlessFree(row, await stripes.stats(row));
      return await updateStripe(control, row.stripe, patch, change);
    } catch (error) {
      // Back to what the table says; when the stripe does not answer the reconciler sees to it.
      await reconciler.apply(row).catch(() => undefined);
      throw error;
    }
  });
}

function refuseUnlessFree(row: StripeRow, stats: WireStats | null): void {
  if (stats === null) throw away(row);
  if (stats.home_buckets > 0) throw homeTo(row, stats.home_buckets);
  const open = (stats.handoffs.PENDING ?? 0) + (stats.handoffs.CLAIMED ?? 0);
  if (open > 0) throw no(row, `holds ${open} jumped orders that are not settled yet`);
}

function homeTo(row: StripeRow, buckets: number): DomainError {
  return no(row, `is home to ${buckets} buckets of partition ${row.partition}: move them first`);
}

function no({ stripe }: StripeRow, why: string): DomainError {
  return new DomainError("STATE_NOT_ALLOWED", `stripe ${stripe} ${why}`);
}

function away({ stripe }: StripeRow): DomainError {
  return new DomainError("STRIPE_UNAVAILABLE", `stripe ${stripe} does not answer`, { retryAfterS: 1 });
}
