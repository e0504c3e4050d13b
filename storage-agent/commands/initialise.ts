import type { CommandContext, CommandExtras } from "../context.ts";
import { refuseUnless } from "../context.ts";
import { readChannel } from "../db/channel.ts";
import { readState } from "../db/read-state.ts";
import { isPristine } from "../db/settings.ts";
import { isClosed } from "../role.ts";

/** A server that was never used becomes VALID empty data. Repeating it under the same epoch is fine. */
export async function initialise(context: CommandContext): Promise<CommandExtras> {
  const { state, sessions, config } = context;
  const session = await sessions.get();
  const { mysql } = await readState(session, config.accounts.replication.userPrefix);
  refuseUnless(isClosed(mysql), "not closed");
  const neverUsed = (await isPristine(session)) && (await readChannel(session)) === null;
  refuseUnless(neverUsed, "there is data here");
  const { blank, data } = state.judgement;
  const fresh = blank || (data === "VALID" && state.file?.openEpoch === 0 && state.file.followTenure === 0);
  refuseUnless(fresh, "this server has had data: rebuild it");
  await context.beforeSql();
  await state.validate(context.epoch);
  return {};
}
