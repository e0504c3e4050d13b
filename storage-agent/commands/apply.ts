import type { CommandContext, CommandExtras } from "../context.ts";
import { Refusal, refuseUnless } from "../context.ts";
import { ensureApplier, readChannel } from "../db/channel.ts";
import { isSubset, waitExecuted } from "../db/gtid.ts";
import { readState } from "../db/read-state.ts";
import type { Session } from "../db/session.ts";
import { isClosed } from "../role.ts";

/** Executes everything that was received; the server stays closed. */
export async function apply(context: CommandContext): Promise<CommandExtras> {
  const session = await context.sessions.get();
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  refuseUnless(isClosed(mysql), "not closed");
  await context.beforeSql();
  await applyReceived(context, session, mysql);
  return {};
}

/**
 * Waits until Retrieved ⊆ executed, with the applier started when there is something to do.
 * @throws Refusal when the applier fails or the deadline passes; the relay log is untouched
 */
export async function applyReceived(
  context: CommandContext,
  session: Session,
  { retrieved, executed }: { readonly retrieved: string; readonly executed: string },
): Promise<void> {
  if (await isSubset(session, retrieved, executed)) return;
  await ensureApplier(session);
  const applierStopped = async (): Promise<boolean> => (await readChannel(session))?.applierRuns === false;
  if (await waitExecuted(session, retrieved, context.deadline, applierStopped)) return;
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  const why = mysql.receiver?.applierError || "not in time";
  throw new Refusal("REFUSED", `received transactions are not executed: ${why}`);
}
