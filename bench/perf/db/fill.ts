// Fills a stripe with paid orders as if they had been made long ago: by INSERT … SELECT at the source, so that it takes
// minutes for millions. The replicas get them as they get everything.
import { connect, type MysqlTarget, type RowDataPacket } from "../../../runtime/mysql.ts";
import { ATTACH, CURRENCY, DESCRIPTION, MERCHANTS, NOTIFY_URL, OPENID, TOTAL } from "../content.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const ORDERS_AT_ONCE = 5_000;
const ORDERS_PER_SECOND = 20;
const FIRST_SECOND = "2026-06-01 00:00:00";

/** `i`: which order; `body`: its number without check digits; `no`, `mchid`: the merchant's; `at`: when it was made. */
function numbersSql(stripe: number, first: number, count: number): string {
  const at = `TIMESTAMP'${FIRST_SECOND}' + INTERVAL ((${first} + i) DIV ${ORDERS_PER_SECOND}) SECOND`;
  return `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count}),
    b AS (SELECT i, ${at} AS at, CONCAT('10', LPAD(${stripe}, 4, '0'), DATE_FORMAT(${at}, '%y%m%d%H%i%s'),
      LPAD(${first} + i, 8, '0')) AS body, CONCAT('bench-', (${first} + i) % ${MERCHANTS}) AS mchid,
      CONCAT('f-', ${first} + i) AS no FROM n),
    o AS (SELECT b.*, CONCAT(body, LPAD(98 - MOD(CAST(CONCAT(body, '00') AS DECIMAL(30)), 97), 2, '0')) AS id FROM b)`;
}

/** The three rows of each order: itself, its index row, its event. */
function insertsSql(stripe: number, first: number, count: number): string[] {
  const numbers = numbersSql(stripe, first, count);
  return [
    `INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url, total,
       currency, trade_state, create_time, time_expire, time_expire_given, success_time, out_pay_no, version)
     ${numbers} SELECT id, mchid, no, '${DESCRIPTION}', '${ATTACH}', '${OPENID}', '${NOTIFY_URL}', ${TOTAL},
       '${CURRENCY}', 'SUCCESS', at, at + INTERVAL 2 HOUR, 0, at + INTERVAL 9 SECOND, CONCAT('p-', no), 2 FROM o`,
    `INSERT INTO merchant_orders (bucket, mchid, out_trade_no, transaction_id, request_hash)
     ${numbers} SELECT CONV(LEFT(SHA2(CONCAT(mchid, CHAR(0), no), 256), 4), 16, 10) >> 6, mchid, no, id,
       UNHEX(SHA2(no, 256)) FROM o`,
    `INSERT INTO order_events (transaction_id, mchid, out_trade_no, event_type, version, create_time, data)
     ${numbers} SELECT id, mchid, no, 'ORDER_CREATED', 1, at, JSON_OBJECT('total', ${TOTAL}, 'currency', '${CURRENCY}',
       'time_expire', DATE_FORMAT(at + INTERVAL 2 HOUR, '%Y-%m-%dT%H:%i:%s.000Z'), 'bucket', 1, 'path', 'INDEX') FROM o`,
  ];
}

/** Makes orders number `first` … `first + count − 1` of the fill. @param said called now and then with how many are made */
export async function fillOrders(
  target: MysqlTarget,
  stripe: number,
  first: number,
  count: number,
  said: (made: number) => void,
): Promise<void> {
  const connection = await connect(target, CONNECT_TIMEOUT_MS);
  try {
    await connection.query("SET SESSION cte_max_recursion_depth = ?, innodb_lock_wait_timeout = 60", [ORDERS_AT_ONCE]);
    for (let made = 0; made < count; made += ORDERS_AT_ONCE) {
      await connection.beginTransaction();
      for (const sql of insertsSql(stripe, first + made, Math.min(ORDERS_AT_ONCE, count - made)))
        await connection.query(sql);
      await connection.commit();
      said(Math.min(count, made + ORDERS_AT_ONCE));
    }
  } finally {
    connection.destroy();
  }
}

/** What the tables of a schema take on disk, MiB. @param target an account that may ask */
export async function schemaMb(target: MysqlTarget, schema: string): Promise<number> {
  const connection = await connect(target, CONNECT_TIMEOUT_MS);
  try {
    const [[row]] = await connection.query<RowDataPacket[]>(
      `SELECT SUM(file_size) / 1048576 AS mb FROM information_schema.innodb_tablespaces WHERE name LIKE ?`,
      [`${schema}/%`],
    );
    return Number(row?.mb);
  } finally {
    connection.destroy();
  }
}

/** What a larger machine has beside memory and redo log: pages kept free, and the pace of its disk. */
const LARGER = ["innodb_lru_scan_depth = 512", "innodb_io_capacity_max = 2000", "innodb_io_capacity = 1000"] as const;

/** Gives a server the memory, redo log and pace of a larger machine, until it restarts. @param target an account that may */
export async function enlarge(target: MysqlTarget, poolMb: number, redoMb: number): Promise<void> {
  const connection = await connect(target, CONNECT_TIMEOUT_MS);
  try {
    await connection.query(`SET GLOBAL innodb_buffer_pool_size = ${Math.round(poolMb) * 1_048_576}`);
    await connection.query(`SET GLOBAL innodb_redo_log_capacity = ${Math.round(redoMb) * 1_048_576}`);
    for (const setting of LARGER) await connection.query(`SET GLOBAL ${setting}`);
  } finally {
    connection.destroy();
  }
}
