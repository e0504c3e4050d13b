import { serverLetter } from "../../core/agent-wire.ts";
import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { admitReplica, cutReplica } from "../db/accounts.ts";
import { readState } from "../db/read-state.ts";
import type { Session } from "../db/session.ts";
import { roleOf } from "../role.ts";

const ANSWER_MARGIN_MS = 100;

/** Lets a replica connect to this source. */
export async function admit(context: CommandContext, args: { readonly replica: string }): Promise<CommandExtras> {
  const { session, user } = await onSource(context, args.replica);
  await context.beforeSql();
  const told = context.told.replicas;
  if (told !== null) context.told.replicas = [...new Set([...told, user])];
  await admitReplica(session, user);
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  if (!mysql.unlockedAccounts.includes(user)) throw new Error(`${user} is still locked`);
  return {};
}

/**
 * Keeps a replica out. An acknowledgement that this source has read already may still commit a write after the cut; the
 * write made here commits later than any such, so the set in the reply contains it.
 */
export async function cut(context: CommandContext, args: { readonly replica: string }): Promise<CommandExtras> {
  const { session, user, role } = await onSource(context, args.replica);
  await context.beforeSql();
  await cutReplica(session, user, context.deadline);
  const told = context.told.replicas;
  if (told !== null) context.told.replicas = told.filter((other) => other !== user);
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  if (mysql.unlockedAccounts.includes(user)) throw new Error(`${user} is not locked`);
  if (role === "open") await context.beat.confirm(Math.max(1, context.deadline.remainingMs() - ANSWER_MARGIN_MS));
  return {};
}

async function onSource(
  context: CommandContext,
  replica: string,
): Promise<{ session: Session; user: string; role: "open" | "prepared" }> {
  const { config, state } = context;
  refuseUnless(
    config.peers.some(({ name }) => name === replica),
    `unknown replica ${replica}`,
  );
  const session = await context.sessions.get();
  const { userPrefix } = config.accounts.replication;
  const role = roleOf((await readState(session, userPrefix)).mysql);
  refuseUnless((role === "open" || role === "prepared") && state.file?.revoked === false, `not a source: ${role}`);
  return { session, user: userPrefix + serverLetter(replica), role };
}
