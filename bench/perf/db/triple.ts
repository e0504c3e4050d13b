// What the bench asks of the servers of a triple.
import { connect, type MysqlTarget, type RowDataPacket } from "../../../runtime/mysql.ts";
import { ATTACH, DESCRIPTION, NOTIFY_URL, OPENID } from "../content.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const CATCH_UP_MAX_S = 120;
const ROWS_AT_ONCE = 500;

/** What the source has executed. */
export async function executedSet(source: MysqlTarget): Promise<string> {
  const connection = await connect(source, CONNECT_TIMEOUT_MS);
  try {
    const [[row]] = await connection.query<RowDataPacket[]>("SELECT @@GLOBAL.gtid_executed AS executed");
    return String(row?.executed);
  } finally {
    connection.destroy();
  }
}

/** Waits until a replica has executed a set. @throws Error after two minutes */
export async function untilExecuted(replica: MysqlTarget, set: string): Promise<void> {
  const connection = await connect(replica, CONNECT_TIMEOUT_MS);
  try {
    const [[row]] = await connection.query<RowDataPacket[]>("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS late", [
      set,
      CATCH_UP_MAX_S,
    ]);
    if (row?.late !== 0) throw new Error("a replica does not catch up");
  } finally {
    connection.destroy();
  }
}

/** Makes unpaid orders for the five-statement pay, numbered from `first`. */
export async function makeUnpaid(target: MysqlTarget, first: number, count: number): Promise<void> {
  const connection = await connect(target, CONNECT_TIMEOUT_MS);
  try {
    for (let from = first; from < first + count; from += ROWS_AT_ONCE) {
      const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, first + count - from) }, (_, i) => {
        const id = `1091${String(from + i).padStart(24, "0")}`;
        const times = ["2026-11-29 12:00:00.123", "2099-11-29 14:00:00.123"];
        return [
          id,
          "bench-1",
          `r-${id}`,
          DESCRIPTION,
          ATTACH,
          OPENID,
          NOTIFY_URL,
          1999,
          "CNY",
          "NOTPAY",
          ...times,
          0,
          1,
        ];
      });
      await connection.query(
        `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url, total,
           currency, trade_state, create_time, time_expire, time_expire_given, version) VALUES ?`,
        [rows],
      );
    }
  } finally {
    connection.destroy();
  }
}
