// Merchants that differ from the defaults: their partition, their create policy, and the partitions that they left.
import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import {
  type CreatePolicy,
  DEFAULT_PARTITION,
  FORMER_PARTITIONS_MAX,
  type MerchantRow,
} from "../../core/routing-table.ts";
import { bumpRoutingVersion } from "./bump-routing-version.ts";
import { insertAudit } from "./insert-audit.ts";
import { requireHomes } from "./partition-homes.ts";

export const MERCHANTS_PAGE_MAX = 500;

interface MerchantDbRow {
  mchid: string;
  partition_name: string;
  create_policy: CreatePolicy;
  former_partitions: string[] | null;
}

function toMerchant(row: MerchantDbRow): MerchantRow {
  return {
    mchid: row.mchid,
    partition: row.partition_name,
    createPolicy: row.create_policy,
    formerPartitions: row.former_partitions ?? [],
  };
}

/** One page, by mchid. @param after the last mchid of the page before */
export async function listMerchants(
  control: Knex,
  filter: { readonly mchid?: string | undefined; readonly after?: string | undefined; readonly limit: number },
): Promise<MerchantRow[]> {
  const query = control<MerchantDbRow>("merchants").orderBy("mchid").limit(Math.min(filter.limit, MERCHANTS_PAGE_MAX));
  if (filter.mchid !== undefined) void query.where("mchid", filter.mchid);
  if (filter.after !== undefined) void query.where("mchid", ">", filter.after);
  return ((await query) as MerchantDbRow[]).map(toMerchant);
}

export interface MerchantChange {
  readonly mchid: string;
  readonly partition?: string | undefined;
  readonly createPolicy?: CreatePolicy | undefined;
  /** The operator knows that the merchant has no numbers in other partitions: none is remembered. */
  readonly noneBefore?: boolean;
}

/**
 * Adds or changes a merchant; a partition that it leaves is remembered, as its numbers are there. A change of nothing
 * raises no version and writes no audit row.
 * @throws DomainError STATE_NOT_ALLOWED when the partition has not all its homes, or too many partitions were left
 */
export async function upsertMerchant(
  control: Knex,
  change: MerchantChange,
  by: { readonly actor: string; readonly requestId: string },
): Promise<MerchantRow> {
  return control.transaction(async (trx) => {
    const found = (await trx("merchants").where({ mchid: change.mchid }).forUpdate().first()) as
      | MerchantDbRow
      | undefined;
    const before: MerchantRow =
      found === undefined
        ? { mchid: change.mchid, partition: DEFAULT_PARTITION, createPolicy: "jump", formerPartitions: [] }
        : toMerchant(found);
    const after = changed(before, change);
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    if (after.partition !== before.partition) await requireHomes(trx, after.partition);
    await trx("merchants")
      .insert({
        mchid: after.mchid,
        partition_name: after.partition,
        create_policy: after.createPolicy,
        former_partitions: JSON.stringify(after.formerPartitions),
        update_time: trx.raw("UTC_TIMESTAMP(3)"),
      })
      .onConflict("mchid")
      .merge();
    await bumpRoutingVersion(trx);
    const action = "merchant.set";
    await insertAudit(trx, {
      ...by,
      action,
      subject: `merchant/${change.mchid}`,
      before: found === undefined ? null : before,
      after,
    });
    return after;
  });
}

function changed(before: MerchantRow, change: MerchantChange): MerchantRow {
  const partition = change.partition ?? before.partition;
  const left = partition === before.partition ? [] : [before.partition];
  const remembered = change.noneBefore === true ? [] : [...left, ...before.formerPartitions];
  const former = [...new Set(remembered)].filter((name) => name !== partition);
  if (former.length > FORMER_PARTITIONS_MAX) {
    throw new DomainError("STATE_NOT_ALLOWED", `a merchant can have left ${FORMER_PARTITIONS_MAX} partitions at most`);
  }
  return { ...before, partition, createPolicy: change.createPolicy ?? before.createPolicy, formerPartitions: former };
}
