// Reading orders by their number with the driver alone, as fast as it goes: a process of its own.
import { createPool, type MysqlTarget, type RowDataPacket } from "../../../runtime/mysql.ts";
import { monotonicMs } from "../../../runtime/clock.ts";

const CONNECT_TIMEOUT_MS = 5_000;

export interface PointSelectOrder {
  readonly target: MysqlTarget;
  readonly connections: number;
  readonly ms: number;
  readonly ids: readonly string[];
}

async function run({ target, connections, ms, ids }: PointSelectOrder): Promise<number> {
  const pool = createPool(target, { connectionsMax: connections, queueMax: 0, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  let done = 0;
  let next = 0;
  const endMs = monotonicMs() + ms;
  const worker = async (): Promise<void> => {
    while (monotonicMs() < endMs) {
      next += 1;
      const id = ids[(next * 7919) % ids.length] ?? "";
      const [rows] = await pool.execute<RowDataPacket[]>("SELECT * FROM orders WHERE transaction_id = ?", [id]);
      if (rows.length === 1) done += 1;
    }
  };
  const startMs = monotonicMs();
  await Promise.all(Array.from({ length: connections }, worker));
  const perSecond = (done / (monotonicMs() - startMs)) * 1000;
  await pool.end();
  return perSecond;
}

process.on("message", (order: PointSelectOrder) => {
  run(order).then(
    (perSecond) => process.send?.({ perSecond }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
process.on("disconnect", () => process.exit(0));
