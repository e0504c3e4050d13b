import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { readIdentity, writeReign } from "../db/ha-writes.ts";
import { readState } from "../db/read-state.ts";
import { makeWritable, wrongSourceSettings } from "../db/roles.ts";
import { MysqldDown, Session, SqlError } from "../db/session.ts";
import { roleOf } from "../role.ts";

/** How long the first write may wait for its acker before the reply says that it still waits. */
const FIRST_WRITE_MS = 3_000;
const ANSWER_MARGIN_MS = 200;

/** Prepared server → open. A no-op on an open one, its first writes excepted. */
export async function open(context: CommandContext): Promise<CommandExtras> {
  const { config, state, epoch, beat } = context;
  refuseUnless(state.file?.openEpoch === epoch && !state.file.revoked, "not prepared under this epoch");
  const session = await context.sessions.get();
  const { mysql, settings } = await readState(session, config.accounts.replication.userPrefix);
  const role = roleOf(mysql);
  refuseUnless(role === "prepared" || role === "open", `not prepared: ${role}`);
  const wrong = wrongSourceSettings(settings);
  refuseUnless(wrong.length === 0, `not prepared: ${wrong.join("; ")}`);
  const identity = await readIdentity(session);
  refuseUnless(identity === null || identity === config.tripleId, `the data belongs to triple ${identity}`);
  await context.beforeSql();
  if (role === "prepared") await makeWritable(session);
  beat.start();
  return { firstWriteCommitted: await firstWrites(context) };
}

async function firstWrites(context: CommandContext): Promise<boolean> {
  const { config, epoch, deadline } = context;
  const { adminHost: host, adminPort: port } = config.mysql;
  const waitMs = Math.max(1, Math.min(FIRST_WRITE_MS, deadline.remainingMs() - ANSWER_MARGIN_MS));
  const session = await Session.open({ host, port, ...config.accounts.watch });
  try {
    await writeReign(session, { tripleId: config.tripleId, epoch, server: config.name }, waitMs);
    return true;
  } catch (error) {
    // Waiting for an acker, or for the row of an earlier attempt that waits for one.
    if (error instanceof MysqldDown || error instanceof SqlError) return false;
    throw error;
  } finally {
    session.destroy();
  }
}
