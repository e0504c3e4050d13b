// Closed server → source that is not yet writable. The order matters: nothing received may be lost with the channel,
// what was committed without fsync is forced to disk, and the accounts are set before the server can acknowledge.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { serverLetter } from "../../core/agent-wire.ts";
import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { allowReplicas } from "../db/accounts.ts";
import { removeChannel } from "../db/channel.ts";
import { forceToDisk, setDurable } from "../db/flushing.ts";
import { readState } from "../db/read-state.ts";
import {
  allowAdministrativeWrites,
  armSource,
  setReplicaArmed,
  setSourceSettings,
  wrongSourceSettings,
} from "../db/roles.ts";
import type { Session } from "../db/session.ts";
import { isClosed, roleOf } from "../role.ts";
import { syncPath } from "../state-file.ts";
import { applyReceived } from "./apply.ts";

export async function prepare(
  context: CommandContext,
  args: { readonly followers: readonly string[] },
): Promise<CommandExtras> {
  const { config, state, told, epoch, deadline } = context;
  const { userPrefix } = config.accounts.replication;
  const allowed = args.followers.map((name) => userPrefix + serverLetter(name));
  const session = await context.sessions.get();
  const { mysql } = await readState(session, userPrefix);
  const alreadyOpen = roleOf(mysql) === "open" && state.file?.revoked === false;
  if (!alreadyOpen) {
    // read_only ON under super_read_only OFF exists only half-way through an earlier `prepare`.
    refuseUnless(isClosed(mysql) || (mysql.readOnly && !mysql.superReadOnly), "not closed");
    await context.beforeSql();
    await applyReceived(context, session, mysql);
  }
  await state.write({ openEpoch: epoch, revoked: false });
  if (alreadyOpen) await context.beforeSql();
  else await becomeSource(context, session);
  told.replicas = null;
  await allowReplicas(session, userPrefix, allowed, deadline);
  told.replicas = allowed;
  await armSource(session);
  await verify(context, session, allowed);
  return {};
}

async function becomeSource(context: CommandContext, session: Session): Promise<void> {
  await setDurable(session);
  if (context.state.file?.relaxedBootId) {
    await forceToDisk(session);
    await forceBinaryLogs(context.config.dataDir);
    await context.state.write({ relaxedBootId: null });
  }
  await removeChannel(session);
  await setReplicaArmed(session, false);
  await setSourceSettings(session);
  await allowAdministrativeWrites(session);
}

/** Also those that were closed before a crash of mysqld, which no statement would force any more. */
async function forceBinaryLogs(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (/^binlog\.(\d+|index)$/.test(name)) await syncPath(join(dataDir, name));
  }
}

async function verify(context: CommandContext, session: Session, allowed: readonly string[]): Promise<void> {
  const { mysql, settings } = await readState(session, context.config.accounts.replication.userPrefix);
  const wrong = wrongSourceSettings(settings);
  if (!mysql.sourceArmed || mysql.replicaArmed || mysql.receiver !== null || mysql.superReadOnly) {
    wrong.push("not armed as a source, or a channel is left");
  }
  if (mysql.unlockedAccounts.join() !== allowed.toSorted().join()) {
    wrong.push(`unlocked accounts are ${mysql.unlockedAccounts.join()}`);
  }
  if (wrong.length > 0) throw new Error(`verification after prepare: ${wrong.join("; ")}`);
}
