import { serverLetter } from "../../core/agent-wire.ts";
import type { CommandArgs } from "../../core/agent-wire.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { ensureApplier, pointChannel, startReceiver, stopReceiver } from "../db/channel.ts";
import { setDurable, setRelaxed } from "../db/flushing.ts";
import { isSubset, union } from "../db/gtid.ts";
import { readState } from "../db/read-state.ts";
import { disarmSource, setReplicaArmed } from "../db/roles.ts";
import type { Session } from "../db/session.ts";
import { isClosed } from "../role.ts";
import { bootId } from "../state-file.ts";

const CONNECT_MAX_MS = 5_000;
const ANSWER_MARGIN_MS = 100;
const POLL_MS = 20;

/** Closed server → armed follower of `source`, whose server_uuid is verified. */
export async function follow(context: CommandContext, args: CommandArgs<"follow">): Promise<CommandExtras> {
  const { config, state } = context;
  const peer = config.peers.find(({ name }) => name === args.source);
  refuseUnless(peer !== undefined, `unknown source ${args.source}`);
  const session = await context.sessions.get();
  const { mysql } = await readState(session, config.accounts.replication.userPrefix);
  refuseUnless(!mysql.stained, "stained: it may hold writes that no query shows");
  const sameTenure = state.file?.followTenure === args.tenure;
  const again = sameTenure && state.file?.followSource === args.source;
  refuseUnless(isClosed(mysql) || again, "not closed");
  const own = union(mysql.executed, mysql.retrieved);
  const clean = sameTenure || (await isSubset(session, own, args.sourceSet));
  refuseUnless(clean, "errant transactions: the source does not have everything that is here");

  const relaxedUnder = config.relaxedReplicas ? await bootId() : null;
  await state.write({
    followTenure: args.tenure,
    followSource: args.source,
    relaxedBootId: relaxedUnder ?? state.file?.relaxedBootId ?? null,
  });
  await context.beforeSql();
  await (relaxedUnder === null ? setDurable(session) : setRelaxed(session));
  await stopReceiver(session);
  if (mysql.sourceArmed) await disarmSource(session); // else the applier would wait for acknowledgements
  await ensureApplier(session);
  try {
    await setReplicaArmed(session, true);
    await pointChannel(session, {
      host: peer.host,
      port: peer.port,
      user: config.accounts.replication.userPrefix + serverLetter(config.name),
      password: config.accounts.replication.password,
      bindAddress: config.bindAddress,
      tls: config.replicationTls,
    });
    await startReceiver(session);
    await verifySource(context, session, args.sourceUuid);
  } catch (error) {
    // A follower that did not reach the server that was meant must not stay armed.
    if (!session.lost) {
      await stopReceiver(session);
      await setReplicaArmed(session, false);
    }
    throw error;
  }
  return {};
}

/** Waits for the connection. @throws Error when it does not come, or leads to another server */
async function verifySource(context: CommandContext, session: Session, sourceUuid: string): Promise<void> {
  const deadline = new Deadline(Math.min(CONNECT_MAX_MS, context.deadline.remainingMs() - ANSWER_MARGIN_MS));
  for (;;) {
    const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
    const { receiver } = mysql;
    if (receiver?.io === "Yes" && receiver.sourceUuid === sourceUuid && receiver.applierRunning) return;
    const wrongServer = receiver?.io === "Yes" && receiver.sourceUuid !== "" && receiver.sourceUuid !== sourceUuid;
    if (wrongServer || deadline.passed) {
      const why = wrongServer
        ? `the source is ${receiver.sourceUuid}, not ${sourceUuid}`
        : `not connected: ${receiver?.ioError || receiver?.applierError || receiver?.io}`;
      throw new Error(why);
    }
    await sleep(POLL_MS);
  }
}
