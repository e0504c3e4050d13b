import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import type { TrialRow } from "../../core/routing-table.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import { insertAudit } from "./insert-audit.ts";
import { requireHomes } from "./partition-homes.ts";
import { listTrials } from "./partitions.ts";

/**
 * Places a share of a partition's merchants in another one. The largest share that there ever was is remembered: those
 * merchants have numbers there.
 * @throws DomainError STATE_NOT_ALLOWED: the other partition has no homes, or trials would follow one another
 */
export async function setTrial(
  control: Knex,
  wanted: Omit<TrialRow, "permyriadMax">,
  by: { readonly actor: string; readonly requestId: string },
): Promise<TrialRow> {
  return control.transaction(async (trx) => {
    const trials = await listTrials(trx, true);
    const before = trials.find(({ partition }) => partition === wanted.partition) ?? null;
    refuseChains(trials, before, wanted);
    const after = { ...wanted, permyriadMax: Math.max(wanted.permyriad, before?.permyriadMax ?? 0) };
    if (before?.to === after.to && before.permyriad === after.permyriad) return after;
    await requireHomes(trx, wanted.to);
    await trx("partition_trials")
      .insert({
        partition_name: after.partition,
        to_partition: after.to,
        permyriad: after.permyriad,
        permyriad_max: after.permyriadMax,
        update_time: trx.raw("UTC_TIMESTAMP(3)"),
      })
      .onConflict("partition_name")
      .merge();
    await bumpRoutingVersion(trx);
    await insertAudit(trx, {
      ...by,
      action: "partition.trial",
      subject: `partition/${wanted.partition}`,
      before,
      after,
    });
    return after;
  });
}

function refuseChains(
  trials: readonly TrialRow[],
  before: TrialRow | null,
  { partition, to }: { partition: string; to: string },
): void {
  const no = (detail: string): never => {
    throw new DomainError("STATE_NOT_ALLOWED", detail);
  };
  if (to === partition) no("a trial leads to another partition");
  if (trials.some((trial) => trial.partition === to))
    no(`partition ${to} has a trial itself: its merchants would be placed twice`);
  if (trials.some((trial) => trial.to === partition)) no(`partition ${partition} is where another trial leads`);
  if (before !== null && before.permyriadMax > 0 && before.to !== to) {
    no(`merchants of this partition have numbers in ${before.to}: a trial cannot lead elsewhere`);
  }
}
