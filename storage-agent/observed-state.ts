// AgentState as `observe` and every reply tell it.
import type { AgentState } from "../core/agent-wire.ts";
import { monotonicMs } from "../runtime/clock.ts";
import type { AgentParts } from "./context.ts";
import type { RawState } from "./db/read-state.ts";
import { roleOf } from "./role.ts";

export interface Busy {
  readonly command: string;
  readonly commandId: string;
  readonly epoch: number;
  readonly sinceMs: number;
}

export interface ObservedExtras {
  readonly agentRunId: string;
  readonly busy: Busy | null;
  readonly alarms: readonly string[];
}

/** @param raw null when mysqld did not answer, with the reason in `error` */
export function observedState(
  parts: AgentParts,
  raw: RawState | null,
  error: string | null,
  extras: ObservedExtras,
): AgentState {
  const { config, state, supervisor, beat } = parts;
  const mysql = raw?.mysql ?? null;
  const role = roleOf(mysql);
  const { judgement } = state;
  const { busy } = extras;
  return {
    server: config.name,
    stripe: config.stripe,
    tripleId: config.tripleId,
    agentRunId: extras.agentRunId,
    file: state.file,
    data: judgement.data,
    voidReason: judgement.reason,
    pristine: judgement.blank && mysql !== null && mysql.executed === "" && mysql.retrieved === "",
    role,
    process: {
      supervised: supervisor !== null,
      pid: supervisor?.pid ?? null,
      starts: supervisor?.starts ?? 0,
      running: supervisor === null ? runningAsSeen(parts, raw) : supervisor.pid !== null,
    },
    mysql,
    mysqlError: error,
    beat: beat.state(),
    lagMs: raw?.lagMs ?? null,
    disk: parts.disk.current(),
    alarms: [...extras.alarms],
    busy: busy === null ? null : { ...busy, sinceMs: Math.round(monotonicMs() - busy.sinceMs) },
  };
}

/** Of a mysqld that is not ours only what a connection tells is known; null = it is silent, which says nothing. */
function runningAsSeen({ watcher }: AgentParts, raw: RawState | null): boolean | null {
  if (raw !== null) return true;
  return watcher.last.refused ? false : null;
}
