import type { RowDataPacket } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { ORDER_COLUMNS, type OrderRow } from "./tables.ts";

/**
 * One order, or undefined.
 * @param lock `UPDATE` holds the row until the transaction ends
 */
export async function selectOrder(
  db: Db,
  transactionId: string,
  lock: "UPDATE" | "NONE" = "NONE",
): Promise<OrderRow | undefined> {
  const [[row]] = await db.query<(OrderRow & RowDataPacket)[]>(
    `SELECT ${ORDER_COLUMNS} FROM orders o WHERE o.transaction_id = ?${lock === "UPDATE" ? " FOR UPDATE" : ""}`,
    [transactionId],
  );
  return row;
}
