import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import type { StripeRow, Temperature } from "../../core/routing-table.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import { insertAudit } from "./insert-audit.ts";
import { type StripeDbRow, toStripeRow } from "./tables.ts";

export interface StripePatch {
  readonly temperature?: Temperature | undefined;
  readonly blocked?: boolean | undefined;
  readonly weight?: number | undefined;
  readonly partition?: string | undefined;
}

export interface Change {
  readonly actor: string;
  readonly requestId: string;
  /** The row version that the operator saw. */
  readonly expectedVersion: number;
}

/**
 * Changes a stripe's row, its version, the table's version and the audit in one transaction. A patch that changes
 * nothing raises no version and writes no audit row.
 * @throws DomainError STRIPE_NOT_EXIST; PRECONDITION_FAILED with the present row when its version is not the expected
 */
export async function updateStripe(
  control: Knex,
  stripe: number,
  patch: StripePatch,
  change: Change,
): Promise<StripeRow> {
  return control.transaction(async (trx) => {
    const found = (await trx("stripes").where({ stripe }).forUpdate().first()) as StripeDbRow | undefined;
    if (found === undefined) throw new DomainError("STRIPE_NOT_EXIST", `there is no stripe ${stripe}`);
    const before = toStripeRow(found);
    if (before.version !== change.expectedVersion) {
      const detail = `stripe ${stripe} is at version ${before.version}, not ${change.expectedVersion}`;
      throw new DomainError("PRECONDITION_FAILED", detail, { conflict: { ...before } });
    }
    const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
    const wanted: StripeRow = { ...before, ...given };
    if (JSON.stringify(wanted) === JSON.stringify(before)) return before;
    const after = { ...wanted, version: before.version + 1 };
    await trx("stripes")
      .where({ stripe })
      .update({
        version: after.version,
        temperature: after.temperature,
        blocked: after.blocked ? 1 : 0,
        weight: after.weight,
        partition_name: after.partition,
        update_time: trx.raw("UTC_TIMESTAMP(3)"),
      });
    await bumpRoutingVersion(trx);
    await insertAudit(trx, {
      actor: change.actor,
      action: "stripe.patch",
      subject: `stripe/${stripe}`,
      before,
      after,
      requestId: change.requestId,
    });
    return after;
  });
}
