// The replication channel of a replica. Two rules keep acknowledged writes alive: a relay log that is not yet executed
// is never reset, and CHANGE REPLICATION SOURCE is never sent to an existing channel whose applier is stopped (it would
// purge the relay log).
import { Deadline, sleep } from "../../runtime/clock.ts";
import { isSubset } from "./gtid.ts";
import { processList } from "./process-list.ts";
import { SqlError } from "./session.ts";
import { kill } from "./sweep.ts";
import type { Row, Session } from "./session.ts";

const STOP_TIMEOUT_MS = 7_000; // rpl_stop_replica_timeout is 5 s
const STILL_STOPPING = new Set([1875, 1876]);
const STOPPING_MAX_MS = 20_000;
const POLL_MS = 20;
/** An applier that is busy with the first part of a transaction gets so long to come to its end. */
const IDLE_MAX_MS = 4_000;

export interface ChannelSource {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly bindAddress: string | null;
  readonly tls: boolean;
}

interface ChannelThreads {
  readonly receiver: "Yes" | "No" | "Connecting";
  readonly applierRuns: boolean;
  readonly retrieved: string;
}

interface StatusRow extends Row {
  readonly Replica_IO_Running: ChannelThreads["receiver"];
  readonly Replica_SQL_Running: string;
  readonly Retrieved_Gtid_Set: string;
}

/** Null when no channel is configured. */
export async function readChannel(session: Session): Promise<ChannelThreads | null> {
  const [row] = await session.query<StatusRow>("SHOW REPLICA STATUS");
  if (row === undefined) return null;
  return {
    receiver: row.Replica_IO_Running,
    applierRuns: row.Replica_SQL_Running === "Yes",
    retrieved: row.Retrieved_Gtid_Set.replaceAll(/\s/g, ""),
  };
}

/** Stops the receiver only; the applier goes on. Does nothing without a channel. */
export async function stopReceiver(session: Session): Promise<void> {
  if ((await readChannel(session)) === null) return;
  await session.query("STOP REPLICA IO_THREAD", [], STOP_TIMEOUT_MS);
}

export async function startReceiver(session: Session): Promise<void> {
  await session.query("START REPLICA IO_THREAD");
}

/** Starts the applier of an existing channel unless it runs. */
export async function ensureApplier(session: Session): Promise<void> {
  const channel = await readChannel(session);
  if (channel !== null && !channel.applierRuns) await session.query("START REPLICA SQL_THREAD");
}

/**
 * A receiver that was stopped in the middle of a transaction leaves its first part in the relay log. The applier waits
 * for the rest, and STOP REPLICA waits for the applier, up to a minute. Nothing acknowledged is in such a part, so the
 * waiting coordinator is killed, before any STOP: after one even a KILL would wait. One that is still executing the part
 * is waited for: it comes to its end in a moment.
 */
async function endIdleApplier(session: Session): Promise<void> {
  const deadline = new Deadline(IDLE_MAX_MS);
  for (;;) {
    const threads = (await processList(session)).filter(({ user }) => user === "system user");
    const idle = threads.filter(({ state }) => state.startsWith("Replica has read all relay log"));
    for (const { id } of idle) await kill(session, id);
    if (idle.length > 0 || threads.length === 0 || deadline.passed) return;
    await sleep(POLL_MS);
  }
}

/** Stops both threads. A slow applier goes on stopping after STOP REPLICA has given up waiting for it. */
async function stopThreads(session: Session): Promise<void> {
  try {
    await session.query("STOP REPLICA", [], STOP_TIMEOUT_MS);
    return;
  } catch (error) {
    if (!(error instanceof SqlError && STILL_STOPPING.has(error.errno))) throw error;
  }
  const deadline = new Deadline(STOPPING_MAX_MS);
  for (;;) {
    const channel = await readChannel(session);
    if (channel === null || (!channel.applierRuns && channel.receiver === "No")) return;
    if (deadline.passed) throw new Error("the replication threads do not stop");
    await sleep(POLL_MS);
  }
}

/**
 * Removes the channel.
 * @throws Error when something received is not executed
 */
export async function removeChannel(session: Session): Promise<void> {
  if ((await readChannel(session)) === null) return;
  await refuseUnlessApplied(session);
  await endIdleApplier(session);
  await stopThreads(session);
  await refuseUnlessApplied(session);
  await session.query("RESET REPLICA ALL");
}

async function refuseUnlessApplied(session: Session): Promise<void> {
  const [row] = await session.query<{ executed: string }>("SELECT @@global.gtid_executed AS executed");
  const retrieved = (await readChannel(session))?.retrieved ?? "";
  if (await isSubset(session, retrieved, row?.executed ?? "")) return;
  throw new Error("received transactions are not executed: the relay log must not be reset");
}

/** Removes whatever channel a clone has brought along; the clone has no relay logs to lose. */
export async function removeClonedChannel(session: Session): Promise<void> {
  await stopThreads(session);
  await session.query("RESET REPLICA ALL");
}

/**
 * Points the channel at `source`; the receiver must be stopped. On an existing channel the applier must run.
 * @throws Error when an existing channel's applier does not run
 */
export async function pointChannel(session: Session, source: ChannelSource): Promise<void> {
  const channel = await readChannel(session);
  if (channel !== null && !channel.applierRuns) {
    throw new Error("the applier is stopped: changing the source would purge the relay log");
  }
  const options = [
    "SOURCE_HOST = ?, SOURCE_PORT = ?, SOURCE_USER = ?, SOURCE_PASSWORD = ?, SOURCE_BIND = ?",
    "SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = 0.5",
    source.tls ? "SOURCE_SSL = 1" : "SOURCE_SSL = 0, GET_SOURCE_PUBLIC_KEY = 1",
    ...(channel === null ? ["SOURCE_AUTO_POSITION = 1"] : []),
  ];
  await session.query(`CHANGE REPLICATION SOURCE TO ${options.join(", ")}`, [
    source.host,
    source.port,
    source.user,
    source.password,
    source.bindAddress ?? "",
  ]);
  await ensureApplier(session);
}
