import type { Knex } from "knex";
import type { TrialRow } from "../../core/routing-table.ts";
import type { StripeDbRow } from "./tables.ts";

export interface PartitionView {
  readonly partition: string;
  /** Stripes that serve it, with the buckets that each is home to. */
  readonly stripes: readonly { readonly stripe: number; readonly weight: number; readonly buckets: number }[];
  /** Buckets that have a home, of 1024. */
  readonly homes: number;
  readonly trial: Omit<TrialRow, "partition"> | null;
}

/** Every partition that has stripes or buckets, by name. */
export async function listPartitions(control: Knex): Promise<PartitionView[]> {
  const stripes = (await control("stripes").orderBy("stripe").select("stripe", "weight", "partition_name")) as Pick<
    StripeDbRow,
    "stripe" | "weight" | "partition_name"
  >[];
  const homes = (await control("buckets")
    .groupBy("partition_name", "stripe")
    .select("partition_name", "stripe")
    .count({ n: "*" })) as { partition_name: string; stripe: number; n: number }[];
  const trials = await listTrials(control);
  const names = new Set([...stripes.map((s) => s.partition_name), ...homes.map((h) => h.partition_name)]);
  return [...names].sort().map((partition) => {
    const own = homes.filter((h) => h.partition_name === partition);
    const trial = trials.find((t) => t.partition === partition);
    return {
      partition,
      stripes: stripes
        .filter((s) => s.partition_name === partition)
        .map(({ stripe, weight }) => ({
          stripe,
          weight,
          buckets: Number(own.find((h) => h.stripe === stripe)?.n ?? 0),
        })),
      homes: own.reduce((sum, { n }) => sum + Number(n), 0),
      trial:
        trial === undefined ? null : { to: trial.to, permyriad: trial.permyriad, permyriadMax: trial.permyriadMax },
    };
  });
}

/** All trials, locked until the end of the transaction when `control` is one and `lock` is set. */
export async function listTrials(control: Knex, lock = false): Promise<TrialRow[]> {
  const query = control("partition_trials").select({
    partition: "partition_name",
    to: "to_partition",
    permyriad: "permyriad",
    permyriadMax: "permyriad_max",
  });
  return (await (lock ? query.forUpdate() : query)) as TrialRow[];
}
