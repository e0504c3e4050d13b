import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";

export type SequenceName = "orders" | "refunds";

/**
 * Takes the next `size` numbers of a sequence.
 * @returns the first of them
 */
export async function takeSequenceBlock(db: Db, name: SequenceName, size: number): Promise<number> {
  const [result] = await db.query<ResultSetHeader>(
    "UPDATE sequences SET next_value = LAST_INSERT_ID(next_value) + ? WHERE name = ?",
    [size, name],
  );
  if (result.affectedRows !== 1) throw new Error(`there is no sequence ${name}`);
  return result.insertId;
}
