import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import { BUCKET_COUNT } from "../../core/placement.ts";

/**
 * Nobody may be placed in a partition before every bucket of it has a home.
 * @throws DomainError STATE_NOT_ALLOWED
 */
export async function requireHomes(control: Knex, partition: string): Promise<void> {
  const [row] = (await control("buckets").where({ partition_name: partition }).count({ n: "*" })) as { n: number }[];
  const homes = Number(row?.n ?? 0);
  if (homes === BUCKET_COUNT) return;
  throw new DomainError(
    "STATE_NOT_ALLOWED",
    `partition ${partition} has homes for ${homes} of ${BUCKET_COUNT} buckets: give it stripes and first homes before`,
  );
}
