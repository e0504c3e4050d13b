// Which partition a merchant's orders go to. A merchant has a partition of its own (`standard` unless it is named), and a
// partition may have a trial: a share of its merchants, chosen by a hash of the mchid, is placed in another partition
// to try something new there. Where a merchant's orders went before is remembered, because numbers made there must be
// recognised for ever.
import { createHash } from "node:crypto";
import { type CreatePolicy, DEFAULT_PARTITION, type MerchantRow, type TrialRow } from "./routing-table.ts";

/** A share of merchants is given in units of one in ten thousand. */
export const PERMYRIAD = 10_000;

export interface MerchantRoute {
  readonly partition: string;
  readonly createPolicy: CreatePolicy;
  /** Partitions that may hold orders of the merchant from before, the newest first; never `partition`. */
  readonly formerPartitions: readonly string[];
}

/** A merchant's place among all, 0 … 9999: it takes part in every trial whose share is larger than that. */
export function merchantSlot(mchid: string): number {
  const hash = createHash("sha256").update(`trial\0${mchid}`).digest().readUInt32BE(0);
  return Math.floor((hash * PERMYRIAD) / 2 ** 32);
}

/**
 * The route of a merchant.
 * @param row undefined for a merchant that has the defaults
 * @param trials by the partition whose merchants take part
 */
export function routeOf(
  mchid: string,
  row: MerchantRow | undefined,
  trials: ReadonlyMap<string, TrialRow>,
): MerchantRoute {
  const bases = row === undefined ? [DEFAULT_PARTITION] : [row.partition, ...row.formerPartitions];
  const [partition = DEFAULT_PARTITION, ...former] = bases.flatMap((base) => placesOf(mchid, base, trials.get(base)));
  return {
    partition,
    createPolicy: row?.createPolicy ?? "jump",
    formerPartitions: former.length === 0 ? NONE : [...new Set(former)].filter((name) => name !== partition),
  };
}

const NONE: readonly string[] = [];

/** Where a merchant of `base` is placed, then where it may have been placed before. */
function placesOf(mchid: string, base: string, trial: TrialRow | undefined): string[] {
  if (trial === undefined || trial.permyriadMax === 0) return [base];
  const slot = merchantSlot(mchid);
  if (slot < trial.permyriad) return [trial.to, base];
  return slot < trial.permyriadMax ? [base, trial.to] : [base];
}
