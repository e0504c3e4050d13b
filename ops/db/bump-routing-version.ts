import type { Knex } from "knex";

/**
 * Raises the version of the whole routing table, inside the transaction that changes it: a proxy that sees the new
 * version sees the change.
 * @returns the new version
 */
export async function bumpRoutingVersion(trx: Knex.Transaction): Promise<number> {
  await trx("routing_meta").where({ id: 1 }).increment("version", 1);
  return readRoutingVersion(trx);
}

/** Version of the whole routing table. */
export async function readRoutingVersion(db: Knex): Promise<number> {
  const row = (await db("routing_meta").where({ id: 1 }).first("version")) as { version: number } | undefined;
  if (row === undefined) throw new Error("routing_meta has no row: run the control migrations");
  return row.version;
}
