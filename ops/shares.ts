import { BUCKET_COUNT } from "../core/placement.ts";

export interface ShareInput {
  readonly stripe: number;
  readonly partition: string;
  /** Buckets that it is home to. */
  readonly buckets: number;
  /** Null when the stripe did not say. */
  readonly createsLastMinute: number | null;
}

export interface Share {
  /** Of the partition's buckets: the part of creates that should come here, 0 … 1. */
  readonly of_buckets: number;
  /** Of the creates of the last minute in the partition; null without any, or when the stripe did not say. */
  readonly of_recent_creates: number | null;
}

/** How evenly creates fall on the stripes of each partition, by stripe. */
export function sharesOf(stripes: readonly ShareInput[]): Map<number, Share> {
  const created = new Map<string, number>();
  for (const { partition, createsLastMinute } of stripes) {
    created.set(partition, (created.get(partition) ?? 0) + (createsLastMinute ?? 0));
  }
  return new Map(
    stripes.map(({ stripe, partition, buckets, createsLastMinute }) => {
      const all = created.get(partition) ?? 0;
      const recent = createsLastMinute === null || all === 0 ? null : createsLastMinute / all;
      return [stripe, { of_buckets: buckets / BUCKET_COUNT, of_recent_creates: recent }];
    }),
  );
}
