import type { Knex } from "knex";

/** How many bucket moves from or to a stripe are open. */
export async function countOpenMovesOf(control: Knex, stripe: number): Promise<number> {
  const [row] = (await control("bucket_moves")
    .where({ state: "OPEN" })
    .andWhere((either) => void either.where({ from_stripe: stripe }).orWhere({ to_stripe: stripe }))
    .count({ n: "*" })) as { n: number }[];
  return Number(row?.n ?? 0);
}
