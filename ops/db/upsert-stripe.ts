import type { Knex } from "knex";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import type { StripeDbRow } from "./tables.ts";

export interface NewStripe {
  readonly stripe: number;
  readonly place: number;
  readonly tripleId: string;
  readonly services: readonly string[];
  readonly weight: number;
  readonly partition: string;
}

/**
 * Adds a stripe to the table as hot, or brings the service addresses of a known one up to date. The table's version
 * grows only when something changed.
 */
export async function upsertStripe(control: Knex, stripe: NewStripe): Promise<void> {
  await control.transaction(async (trx) => {
    const found = (await trx("stripes").where({ stripe: stripe.stripe }).forUpdate().first()) as
      | StripeDbRow
      | undefined;
    const services = JSON.stringify(stripe.services);
    const now = trx.raw("UTC_TIMESTAMP(3)");
    if (found === undefined) {
      await trx("stripes").insert({
        stripe: stripe.stripe,
        version: 1,
        place: stripe.place,
        triple_id: stripe.tripleId,
        temperature: "hot",
        weight: stripe.weight,
        partition_name: stripe.partition,
        blocked: 0,
        services,
        create_time: now,
        update_time: now,
      });
    } else if (JSON.stringify(found.services) !== services) {
      await trx("stripes")
        .where({ stripe: stripe.stripe })
        .update({ services, version: found.version + 1, update_time: now });
    } else return;
    await bumpRoutingVersion(trx);
  });
}
