import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { readIdentity, writeReign } from "../db/ha-writes.ts";
import { readState } from "../db/read-state.ts";
import { LOCK_WAIT_TIMEOUT, makeWritable, wrongSourceSettings } from "../db/roles.ts";
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
  if (role === "prepared") {
    await makeWritable(session);
    const { mysql: now } = await readState(session, config.accounts.replication.userPrefix);
    if (roleOf(now) !== "open") throw new Error(`verification after open: ${roleOf(now)}`);
  }
  beat.start();
  return { firstWriteCommitted: await firstWrites(context) };
}

/** False when they have not committed: then the server is open all the same, and its beat tells how it goes on. */
async function firstWrites(context: CommandContext): Promise<boolean> {
  const { config, epoch, deadline, logger } = context;
  const { adminHost: host, adminPort: port } = config.mysql;
  const waitMs = Math.max(1, Math.min(FIRST_WRITE_MS, deadline.remainingMs() - ANSWER_MARGIN_MS));
  let session: Session | null = null;
  try {
    session = await Session.open({ host, port, ...config.accounts.watch });
    await writeReign(session, { tripleId: config.tripleId, epoch, server: config.name }, waitMs);
    return true;
  } catch (error) {
    // For an acker, or for the row of an earlier attempt that waits for one.
    const waits = error instanceof MysqldDown || (error instanceof SqlError && error.errno === LOCK_WAIT_TIMEOUT);
    if (!waits) logger.error({ err: error }, "the first write of this reign failed");
    return false;
  } finally {
    session?.destroy();
  }
}
