import { subtract } from "./gtid.ts";
import type { Session } from "./session.ts";

const EVENTS_TIMEOUT_MS = 5_000;

/** Names of the binary logs in which transactions of `gtids` begin, newest first. */
export async function binlogsWith(session: Session, gtids: string): Promise<string[]> {
  const logs = await session.query("SHOW BINARY LOGS");
  const found: string[] = [];
  let left = gtids;
  for (const name of logs.map((row) => String(row["Log_name"])).reverse()) {
    const before = await gtidsBefore(session, name);
    const earlier = await subtract(session, left, await subtract(session, left, before));
    if (earlier !== left) found.push(name);
    left = earlier;
    if (left === "") break;
  }
  return found;
}

/** What all logs before this one hold: the second event of each tells it. */
async function gtidsBefore(session: Session, name: string): Promise<string> {
  const events = await session.query("SHOW BINLOG EVENTS IN ? LIMIT 2", [name], EVENTS_TIMEOUT_MS);
  const previous = events.find((row) => row["Event_type"] === "Previous_gtids");
  return typeof previous?.["Info"] === "string" ? previous["Info"].replaceAll(/\s/g, "") : "";
}
