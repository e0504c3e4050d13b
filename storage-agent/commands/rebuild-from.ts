// Replaces the data by a clone of an armed replica or of the source. From the first step on the data is VOID; it is
// VALID again only when what came is known to be a subset of the source's.
import type { CommandArgs } from "../../core/agent-wire.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { AgentServerConfig } from "../config.ts";
import type { CommandContext, CommandExtras } from "../context.ts";
import { Refusal, refuseUnless } from "../context.ts";
import { removeClonedChannel, stopReceiver } from "../db/channel.ts";
import { cloneFrom, readExecuted } from "../db/clone.ts";
import { isSubset, subtract, union } from "../db/gtid.ts";
import { readState } from "../db/read-state.ts";
import { allowAdministrativeWrites, closeGracefully } from "../db/roles.ts";
import { Session } from "../db/session.ts";
import { isClosed } from "../role.ts";
import { forgetServerUuid, requestPristineData } from "../data-directory.ts";
import { archiveTail } from "../tail-archive.ts";
import { keepTailLogs } from "../tail-logs.ts";
import { killAndStartClosed, verifyClosed } from "./restart.ts";

/** A void server that has not come up by then is given a pristine data directory. */
const VOID_START_MAX_MS = 20_000;
const EXIT_AFTER_CLONE_MS = 60_000;
/** The clone may hold a write that the source still waits to acknowledge: it becomes the source's within moments. */
const SUBSET_WAIT_MS = 10_000;
const POLL_MS = 100;

type Peer = AgentServerConfig["peers"][number];

export async function rebuildFrom(context: CommandContext, args: CommandArgs<"rebuild-from">): Promise<CommandExtras> {
  const { config, state, epoch } = context;
  const donor = peerNamed(config, args.donor);
  const source = peerNamed(config, args.source);
  let session = await usableSession(context);
  const { mysql } = await readState(session, config.accounts.replication.userPrefix);
  if (state.judgement.data === "VALID") refuseUnless(isClosed(mysql), "not closed");
  else if (mysql.stained) session = await killAndStartClosed(context);
  const donorHas = await executedOf(context, donor);

  const tail = await subtract(session, union(mysql.executed, mysql.retrieved), args.sourceSet);
  const archivedTail = tail === "" ? null : await archive(context, session, tail, mysql.executed);
  await state.voidData(epoch);
  await context.beforeSql();
  await stopReceiver(session);
  session = await cloneAndRestart(context, session, donor, mysql.serverUuid);
  await removeClonedChannel(session);
  await verifyClosed(context, session);
  await verifyData(context, session, source, donorHas, mysql.serverUuid);
  await state.validate(epoch);
  return { archivedTail };
}

function peerNamed(config: AgentServerConfig, name: string): Peer {
  const peer = config.peers.find((candidate) => candidate.name === name);
  refuseUnless(peer !== undefined, `unknown server ${name}`);
  return peer;
}

/** A broken-off clone may leave data on which mysqld does not start: void data may be thrown away. */
async function usableSession(context: CommandContext): Promise<Session> {
  const { sessions, supervisor, state, deadline, logger } = context;
  const waitMs = Math.min(VOID_START_MAX_MS, deadline.remainingMs());
  try {
    return await sessions.getWhenUp(new Deadline(waitMs));
  } catch (error) {
    if (state.judgement.data === "VALID") throw error;
    logger.warn({ err: error }, "mysqld does not start on void data: starting from a pristine data directory");
    if (supervisor === null) {
      await requestPristineData(context.config.dataDir);
      return sessions.getWhenUp(deadline);
    }
    await supervisor.hold();
    try {
      await supervisor.kill();
      if (!(await supervisor.replaceDataDirectory())) throw error;
    } finally {
      supervisor.unhold();
    }
    return sessions.getWhenUp(deadline);
  }
}

async function archive(
  context: CommandContext,
  session: Session,
  tail: string,
  executed: string,
): Promise<string | null> {
  const { config, state, epoch, deadline, logger } = context;
  const { dataDir, archiveDir, mysqlbinlogCommand: command } = config;
  const name = `${config.name}-epoch-${epoch}-${state.file?.dataId ?? "unknown"}`;
  const common = { dataDir, archiveDir, name, gtids: tail, deadline };
  try {
    if (command === null) return await keepTailLogs({ ...common, session, executed });
    return await archiveTail({ ...common, command });
  } catch (error) {
    // Of void data nothing is promised, its logs may be those of an interrupted clone.
    if (state.judgement.data === "VALID") throw error;
    logger.warn({ err: error, tail }, "the tail of void data could not be archived");
    return null;
  }
}

async function cloneAndRestart(
  context: CommandContext,
  session: Session,
  donor: Peer,
  formerUuid: string,
): Promise<Session> {
  const { config, supervisor, sessions, deadline } = context;
  await allowAdministrativeWrites(session);
  await supervisor?.hold();
  // mysqld of a container is up again before we could stop it: it must find nothing. Void data may lose its identity.
  if (supervisor === null) await forgetServerUuid(config.dataDir);
  try {
    const from = { host: donor.host, port: donor.port, ...config.accounts.clone };
    await cloneFrom(session, from, { tls: config.replicationTls, timeoutMs: Math.max(1, deadline.remainingMs()) });
    sessions.close();
    if (supervisor !== null) {
      if (!(await supervisor.waitExit(new Deadline(EXIT_AFTER_CLONE_MS)))) await supervisor.kill();
      await forgetServerUuid(config.dataDir);
    }
  } catch (error) {
    if (!session.lost) await closeGracefully(session);
    throw error;
  } finally {
    supervisor?.unhold();
  }
  return supervisor === null ? sessionAfterRestart(context, formerUuid) : sessions.getWhenUp(deadline);
}

/** The mysqld that was cloned into may answer for a moment yet; the one that its container starts next has a new name. */
async function sessionAfterRestart(
  { sessions, config, deadline }: CommandContext,
  formerUuid: string,
): Promise<Session> {
  for (;;) {
    try {
      const session = await sessions.getWhenUp(deadline);
      const { mysql } = await readState(session, config.accounts.replication.userPrefix);
      if (mysql.serverUuid !== formerUuid) return session;
      if (deadline.passed) throw new Error("mysqld was not started again after the clone");
    } catch (error) {
      if (deadline.passed) throw error;
    }
    sessions.close();
    await sleep(POLL_MS);
  }
}

/** @throws Error, and the data stays VOID, unless donor's former set ⊆ executed ⊆ S(source) under a new server_uuid */
async function verifyData(
  context: CommandContext,
  session: Session,
  source: Peer,
  donorHas: string,
  formerUuid: string,
): Promise<void> {
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  if (mysql.serverUuid === formerUuid) throw new Error("server_uuid is the old one");
  if (!(await isSubset(session, donorHas, mysql.executed))) throw new Error("the clone is not complete");
  const until = new Deadline(Math.min(SUBSET_WAIT_MS, context.deadline.remainingMs()));
  for (;;) {
    if (await isSubset(session, mysql.executed, await executedOf(context, source))) return;
    if (until.passed) throw new Error("the clone holds transactions that the source does not have");
    await sleep(POLL_MS);
  }
}

async function executedOf(context: CommandContext, peer: Peer): Promise<string> {
  let session: Session | null = null;
  try {
    session = await Session.open({ host: peer.host, port: peer.port, ...context.config.accounts.clone });
    return await readExecuted(session);
  } catch (error) {
    throw new Refusal("FAILED", `cannot read ${peer.name}: ${String(error)}`);
  } finally {
    session?.destroy();
  }
}
