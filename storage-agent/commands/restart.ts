import type { CommandContext, CommandExtras } from "../context.ts";
import { Refusal } from "../context.ts";
import { shutDown } from "../db/clone.ts";
import { readState } from "../db/read-state.ts";
import type { Session } from "../db/session.ts";
import { sleep } from "../../runtime/clock.ts";
import { isClosed } from "../role.ts";

const POLL_MS = 50;

/** SIGKILL and start closed, whatever the server was. */
export async function restart(context: CommandContext): Promise<CommandExtras> {
  context.beat.stop();
  await context.beforeSql();
  const session = await killAndStartClosed(context);
  await verifyClosed(context, session);
  return {};
}

/** Ends mysqld and waits until it is up again; pending commits are now either in gtid_executed or gone. */
export async function killAndStartClosed(context: CommandContext): Promise<Session> {
  const { supervisor, sessions } = context;
  if (supervisor === null) return shutDownAndWait(context);
  sessions.close();
  await supervisor.kill();
  return sessions.getWhenUp(context.deadline);
}

/** @throws Error unless the server is closed and its receiver stopped */
export async function verifyClosed(context: CommandContext, session: Session): Promise<void> {
  const { mysql } = await readState(session, context.config.accounts.replication.userPrefix);
  if (!isClosed(mysql)) throw new Error(`the server is not closed: ${JSON.stringify({ ...mysql, executed: "" })}`);
}

/** Without supervision the container's own restart policy brings mysqld back. */
async function shutDownAndWait(context: CommandContext): Promise<Session> {
  const { sessions, config, deadline } = context;
  await shutDown(await sessions.get());
  sessions.close();
  for (;;) {
    await sleep(POLL_MS);
    try {
      const session = await sessions.get();
      const { mysql } = await readState(session, config.accounts.replication.userPrefix);
      if (!mysql.stained) return session;
      sessions.close();
    } catch (error) {
      sessions.close();
      if (deadline.passed) throw new Refusal("MYSQLD_DOWN", `mysqld did not come back: ${String(error)}`);
    }
    if (deadline.passed) throw new Refusal("NOT_SWEPT", "mysqld did not shut down in time");
  }
}
