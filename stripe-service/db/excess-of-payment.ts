import { toDbTime, type Instant } from "../../core/time.ts";
import type { ResultSetHeader } from "../../runtime/mysql.ts";
import type { Db } from "./db.ts";
import { PAYMENT_COLUMNS } from "./tables.ts";

/** Records the payment of a paid order, which another paid order supersedes, as money to give back. */
export async function insertExcessOfPayment(db: Db, transactionId: string, now: Instant): Promise<boolean> {
  const [result] = await db.query<ResultSetHeader>(
    `INSERT INTO excess_payments (transaction_id, reason, ${PAYMENT_COLUMNS}, create_time)
     SELECT transaction_id, 'SUPERSEDED', ${PAYMENT_COLUMNS}, ? FROM payments WHERE transaction_id = ?`,
    [toDbTime(now), transactionId],
  );
  return result.affectedRows === 1;
}
