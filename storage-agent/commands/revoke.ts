// After a revoke the server acknowledges nothing to a source and, when it was one, nothing to a client: whatever its
// later reads say is final.
import { monotonicMs } from "../../runtime/clock.ts";
import type { CommandContext, CommandExtras } from "../context.ts";
import { Refusal } from "../context.ts";
import { stopReceiver } from "../db/channel.ts";
import { readState } from "../db/read-state.ts";
import { closeGracefully, disarmSource, setReplicaArmed } from "../db/roles.ts";
import { MysqldDown } from "../db/session.ts";
import type { Session } from "../db/session.ts";
import { NotSwept } from "../db/sweep.ts";
import { killAndStartClosed, verifyClosed } from "./restart.ts";

/** Attempts to connect that mysqld may leave unanswered before it counts as hanging. */
const SILENT_MAX = 2;
/** How long closing may take in the graceful way: commits in flight must get their answers, so nobody is cut off. */
const CLOSING_MAX_MS = 1_500;
/** After closing, a statement in flight gets so long to be told that the server is read-only; then sessions are cut. */
const DRAIN_MS = 400;

export async function revoke(context: CommandContext, args: { mode: "graceful" | "kill" }): Promise<CommandExtras> {
  context.beat.stop();
  const { wasRevoked, told } = context;
  if (args.mode === "graceful" && !wasRevoked) told.drainUntilMs = monotonicMs() + CLOSING_MAX_MS;
  await context.beforeSql();
  try {
    await revokeOnce(context, args.mode, await sweptOrKilled(context, SILENT_MAX));
  } catch (error) {
    if (!(error instanceof MysqldDown)) throw error;
    // The session was lost half-way; whatever is left of it is swept, or killed with its mysqld, before another try.
    await revokeOnce(context, args.mode, await sweptOrKilled(context, error.refused ? SILENT_MAX : 1));
  }
  // No commit can be waiting any more, so the source's side only looks armed. Disarming takes up to a second, and the
  // next leader need not wait for it: it is done under the same lock, before this server's next command.
  return { afterReply: () => disarmIfArmed(context) };
}

async function revokeOnce(context: CommandContext, mode: "graceful" | "kill", swept: Session): Promise<void> {
  let session = swept;
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  if (mysql.stained) {
    // read_only never went off: a prepared server that was never opened has taken no write.
    const neverOpened = mysql.readOnly && !mysql.superReadOnly;
    if (mode === "kill" && !neverOpened) session = await killAndStartClosed(context);
    else await closeInPlace(context, session);
    context.told.drainUntilMs = context.wasRevoked || mode === "kill" ? -Infinity : monotonicMs() + DRAIN_MS;
  }
  await stopReceiver(session);
  await setReplicaArmed(session, false);
  await verifyClosed(context, session);
}

/** super_read_only: no commit waits when it is ON, and none can begin. @throws Refusal when commits still wait */
async function closeInPlace(context: CommandContext, session: Session): Promise<void> {
  if (await closeGracefully(session)) return;
  await staysOpen(context);
  throw new Refusal("STILL_OPEN", "commits or DDL in flight did not end within a second; nothing has changed");
}

async function disarmIfArmed({ sessions, config }: CommandContext): Promise<void> {
  const session = await sessions.get();
  const { mysql } = await readState(session, config.accounts.replication.userPrefix);
  if (mysql.sourceArmed) await disarmSource(session);
}

/** Nothing was revoked: clients are let in again, until a later command ends it or the attempt is given up. */
async function staysOpen({ state, beat, told, wasRevoked }: CommandContext): Promise<void> {
  told.drainUntilMs = -Infinity;
  if (wasRevoked) return;
  await state.write({ revoked: false });
  beat.start();
}

/** A session that no older SQL can follow; a mysqld that cannot give one is killed when it is ours. */
async function sweptOrKilled(context: CommandContext, silentMax: number): Promise<Session> {
  try {
    return await context.sessions.getWhenUp(context.deadline, silentMax);
  } catch (error) {
    const hangs = error instanceof NotSwept || (error instanceof MysqldDown && !error.refused);
    if (!hangs) throw error;
    if (context.supervisor === null) throw new Refusal("NOT_SWEPT", error.message);
    context.logger.warn({ err: error }, "mysqld cannot be swept: killing it");
    return killAndStartClosed(context);
  }
}
