// What a controller knows of one server, as a pure function of its agent's answers: the last answer, and for how long
// the things that matter have been so. Times are this process's monotonic clock.
import type { AgentState } from "../../core/agent-wire.ts";

export interface ServerView {
  readonly name: string;
  /** The last answer; kept while later polls fail. */
  readonly state: AgentState | null;
  /** When the last answer was asked for. */
  readonly askedAtMs: number;
  /** When the last answer came. */
  readonly answeredAtMs: number;
  /** Polls in a row without an answer; 0 = the last one was answered. */
  readonly failures: number;
  readonly lastError: string | null;
  /** Looks in a row at which the agent found mysqld silent. */
  readonly silentLooks: number;
  /** When each of these was first seen without a break; null = not so now. */
  readonly since: Readonly<Record<Condition, number | null>>;
  /** mysqld's process when it was last seen open, to tell "hung" from "was restarted". */
  readonly openPid: number | null;
}

export const CONDITIONS = [
  /** No answer from the agent. */
  "gone",
  /** The agent answers, its mysqld does not. */
  "silent",
  /** Follows, but nothing arrives. */
  "notReceiving",
  /** The beat of an open source hangs. */
  "beatHangs",
  /** The applier has stopped by an error. */
  "applierBroken",
  /** None of the roles that a command leaves behind. */
  "oddRole",
] as const;
export type Condition = (typeof CONDITIONS)[number];

export type PollEvent =
  | { readonly kind: "answer"; readonly state: AgentState; readonly askedAtMs: number; readonly nowMs: number }
  | { readonly kind: "failure"; readonly error: string; readonly nowMs: number }
  /** This process was not running for a while: nothing counted so far means anything. */
  | { readonly kind: "stall"; readonly nowMs: number };

/** Of a mysqld in a container of its own: it was open, and which process that was is not known. */
const UNKNOWN_PID = 0;

const NEVER = Object.fromEntries(CONDITIONS.map((name) => [name, null])) as Record<Condition, null>;

export function unseen(name: string, nowMs: number): ServerView {
  return {
    name,
    state: null,
    askedAtMs: nowMs,
    answeredAtMs: nowMs,
    failures: 0,
    lastError: null,
    silentLooks: 0,
    since: NEVER,
    openPid: null,
  };
}

export function advance(view: ServerView, event: PollEvent): ServerView {
  if (event.kind === "stall") {
    return { ...unseen(view.name, event.nowMs), state: view.state, openPid: view.openPid };
  }
  if (event.kind === "failure") {
    const gone = view.since.gone ?? event.nowMs;
    return { ...view, failures: view.failures + 1, lastError: event.error, since: { ...view.since, gone } };
  }
  const { state, askedAtMs, nowMs } = event;
  const silent = state.mysql === null && state.process.running !== false;
  return {
    ...view,
    state,
    askedAtMs,
    answeredAtMs: nowMs,
    failures: 0,
    lastError: null,
    silentLooks: silent ? view.silentLooks + 1 : 0,
    since: conditionsOf(state, view.since, nowMs),
    openPid: state.role === "open" ? (state.process.pid ?? UNKNOWN_PID) : view.openPid,
  };
}

function conditionsOf(state: AgentState, before: ServerView["since"], nowMs: number): ServerView["since"] {
  const receiver = state.mysql?.receiver ?? null;
  const holds: Record<Condition, boolean> = {
    gone: false,
    silent: state.mysql === null,
    notReceiving: state.role === "follower" && receiver?.receiving !== true,
    beatHangs: state.beat?.hangs === true,
    applierBroken: receiver !== null && receiver.applierErrno !== 0 && !receiver.applierRunning,
    oddRole: state.mysql !== null && state.role === "other",
  };
  const since = CONDITIONS.map((name) => [name, holds[name] ? (before[name] ?? nowMs) : null] as const);
  return Object.fromEntries(since) as Record<Condition, number | null>;
}
