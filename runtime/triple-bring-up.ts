// Opens a triple while no failover controller exists. It keeps no record and holds no lease: one caller at a time, and
// only with all agents answering. To be removed together with its last caller.
import type { AgentState, CommandArgs, CommandName } from "../core/agent-wire.ts";
import type { AgentClient } from "./agent-client.ts";

const SERVERS = 3;
const OBSERVE_MS = 3_000;
const COMMAND_MS = 30_000;
const REBUILD_MS = 15 * 60_000;

/** The triple cannot be opened now; `message` says why. */
export class BringUpFailed extends Error {
  override readonly name = "BringUpFailed";
}

/**
 * Opens the triple, or makes its closed servers follow the one that is open; does nothing to what is right already.
 * Returns the name of the source.
 * @param agents of all servers of the triple; fewer are enough while one is open
 * @throws BringUpFailed, AgentUnreachable
 */
export async function bringUpTriple(agents: readonly AgentClient[]): Promise<string> {
  const seen = await Promise.all(agents.map((agent) => agent.observe(OBSERVE_MS)));
  const send = sender(agents, Math.max(0, ...seen.map(({ file }) => file?.epoch ?? 0)) + 1);
  const open = seen.filter(({ role, file }) => role === "open" && file?.revoked === false);
  if (open[0] === undefined || open.length > 1) {
    // Without a record nobody knows which two of them hold every acknowledged write.
    if (agents.length < SERVERS) throw new BringUpFailed(`a source can be chosen only among all ${SERVERS} servers`);
    return openAnew(seen, send);
  }
  for (const state of seen) {
    const follows = state.role === "follower" && state.file?.followSource === open[0].server;
    if (state !== open[0] && !follows) await rejoin(state, open[0].server, send);
  }
  return open[0].server;
}

async function openAnew(seen: readonly AgentState[], send: Send): Promise<string> {
  if (seen.every(({ pristine }) => pristine)) {
    await Promise.all(seen.map(({ server }) => send(server, "initialise", {})));
  }
  const states = await Promise.all(seen.map(({ server }) => send(server, "revoke", { mode: "kill" })));
  const source = states.reduce((best, state) => (openEpoch(state) > openEpoch(best) ? state : best));
  const others = states.filter((state) => state !== source);
  const prepared = await send(source.server, "prepare", { followers: others.map(({ server }) => server) });
  const follow = followArgs(prepared);
  const followed = await Promise.allSettled(others.map(({ server }) => send(server, "follow", follow)));
  const failures = followed.filter((result) => result.status === "rejected");
  if (failures.length === others.length) {
    throw new BringUpFailed(`nobody follows ${source.server}: ${failures.map(({ reason }) => String(reason)).join()}`);
  }
  await send(source.server, "open", {});
  return source.server;
}

/** A server with transactions that the source lacks, or without valid data, is cloned. */
async function rejoin({ server }: AgentState, source: string, send: Send): Promise<void> {
  const state = await send(server, "revoke", { mode: "kill" }).catch(() => null);
  const atSource = await send(source, "admit", { replica: server });
  const follow = followArgs(atSource);
  const followed = state !== null && (await send(server, "follow", follow).catch(() => null));
  if (followed) return;
  await send(server, "rebuild-from", { donor: source, source, sourceSet: follow.sourceSet });
  await send(server, "follow", followArgs(await send(source, "observe", {})));
}

function followArgs({ server, mysql, file }: AgentState): CommandArgs<"follow"> {
  if (mysql === null) throw new BringUpFailed(`${server} does not answer`);
  return { source: server, sourceUuid: mysql.serverUuid, sourceSet: mysql.executed, tenure: file?.openEpoch ?? 0 };
}

function openEpoch(state: AgentState): number {
  return state.file?.openEpoch ?? 0;
}

type Send = <C extends CommandName>(server: string, command: C, args: CommandArgs<C>) => Promise<AgentState>;

function sender(agents: readonly AgentClient[], epoch: number): Send {
  return async (server, command, args) => {
    const agent = agents.find((candidate) => candidate.server === server);
    if (agent === undefined) throw new BringUpFailed(`no agent of ${server}`);
    const reply = await agent.command(command, epoch, args, command === "rebuild-from" ? REBUILD_MS : COMMAND_MS);
    if (reply.ok) return reply.state;
    throw new BringUpFailed(`${command} on ${server}: ${reply.code}, ${reply.reason}`);
  };
}
