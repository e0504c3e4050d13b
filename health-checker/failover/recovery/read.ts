// REVOKE and READ: every server is told to acknowledge nothing any more, and says what it holds. Nobody waits for a
// server that is not needed.
import type { AgentState } from "../../../core/agent-wire.ts";
import { Deadline, monotonicMs } from "../../../runtime/clock.ts";
import { choose, type Choice, type NoChoice, type Reply } from "../choose.ts";
import { CommandFailed, type Job } from "../job.ts";
import { mysqlOf } from "../snapshot.ts";
import {
  READ_EXTRA_MS,
  READ_PREFERRED_MS,
  READ_WAIT_MS,
  REVOKE_DEADLINE_MS,
  REVOKE_GRACEFUL_DEADLINE_MS,
} from "../thresholds.ts";

/** What a recovery has read at its epoch so far. */
export interface Reading {
  readonly replies: Map<string, Reply>;
  /** Servers whose revoke is on its way. */
  readonly pending: Set<string>;
  readonly failures: Map<string, string>;
  /** Monotonic time up to which a server that has replied may have received something from the source. */
  readonly heardMs: Map<string, number>;
  /** Leads only if nobody else may. */
  readonly avoid: string | null;
}

export const newReading = (avoid: string | null = null): Reading => {
  return { replies: new Map(), pending: new Set(), failures: new Map(), heardMs: new Map(), avoid };
};

/**
 * Tells servers to close, in parallel, and chooses as soon as enough have answered.
 * @param prefer waited for a little longer than for others
 */
export async function readUntilChosen(
  job: Job,
  servers: readonly string[],
  prefer: string | null,
  killSource: boolean,
  reading: Reading = newReading(),
): Promise<{ readonly reading: Reading; readonly choice: Choice | NoChoice }> {
  const news = new News();
  for (const server of servers) {
    reading.pending.add(server);
    void revokeServer(job, server, killSource, reading).finally(() => {
      reading.pending.delete(server);
      news.tell();
    });
  }
  const beganMs = monotonicMs();
  const limit = new Deadline(READ_WAIT_MS);
  let enoughSinceMs: number | null = null;
  for (;;) {
    job.assertLeads();
    const choice = chooseNow(job, reading, prefer, new Set());
    const enough = typeof choice !== "string" && choice.candidate !== reading.avoid;
    if (enough) enoughSinceMs ??= monotonicMs();
    if (reading.pending.size === 0 || limit.passed) return { reading, choice };
    let waitMs = limit.remainingMs();
    if (enough) {
      const preferredPending = prefer !== null && choice.candidate !== prefer && reading.pending.has(prefer);
      const untilMs = preferredPending ? beganMs + READ_PREFERRED_MS : (enoughSinceMs ?? 0) + READ_EXTRA_MS;
      if (monotonicMs() >= untilMs || !anySoon(job, reading)) return { reading, choice };
      waitMs = untilMs - monotonicMs();
    }
    await news.wait(waitMs);
  }
}

export function chooseNow(
  job: Job,
  reading: Reading,
  prefer: string | null,
  exclude: ReadonlySet<string>,
): Choice | NoChoice {
  return choose(job.record, reading.replies, { prefer, avoid: reading.avoid, exclude, order: job.context.order });
}

/** Whether one that has not answered yet is likely to in a moment. */
function anySoon(job: Job, { pending }: Reading): boolean {
  return [...pending].some((server) => {
    const view = job.context.view(server);
    const { openPid, state } = view;
    const closing = state?.role === "open" && openPid !== null; // a kill and a crash recovery take seconds
    return mysqlOf(view, monotonicMs()) !== null && !closing;
  });
}

/** Graceful when nothing waits, else a kill: a pending write of a killed source is committed and visible afterwards. */
async function revokeServer(job: Job, server: string, killSource: boolean, reading: Reading): Promise<void> {
  const mysql = mysqlOf(job.context.view(server), monotonicMs());
  const calm = mysql !== null && mysql.waitSessions === 0;
  try {
    if (calm && server === job.record.src) {
      const done = await revokeGracefully(job, server);
      if (done !== null) return void reading.replies.set(server, done);
      if (!killSource) return void reading.failures.set(server, "STILL_OPEN");
    }
    const mode = server === job.record.src && !killSource ? "graceful" : "kill";
    const reply = await job.command(server, "revoke", { mode }, REVOKE_DEADLINE_MS);
    reading.replies.set(server, replyOf(reply.state, reply.epoch));
    reading.heardMs.set(server, monotonicMs() - (reply.state.mysql?.receiver?.lastProgressAgeMs ?? 0));
  } catch (error) {
    if (!(error instanceof CommandFailed)) job.logger.warn({ err: error, server }, "revoke broke off");
    reading.failures.set(server, error instanceof CommandFailed ? error.code : (error as Error).message);
  }
}

/** Null: commits in flight kept it open, or it does not answer in time. */
export async function revokeGracefully(job: Job, server: string): Promise<Reply | null> {
  try {
    const reply = await job.command(server, "revoke", { mode: "graceful" }, REVOKE_GRACEFUL_DEADLINE_MS);
    return replyOf(reply.state, reply.epoch);
  } catch (error) {
    if (error instanceof CommandFailed) return null;
    throw error;
  }
}

export function replyOf(state: AgentState, epoch: number): Reply {
  const { mysql } = state;
  const receiverStopped = (mysql?.receiver ?? null) === null || mysql?.receiver?.io === "No";
  return {
    server: state.server,
    epoch: state.file?.epoch ?? epoch,
    valid: state.data === "VALID",
    closed: mysql !== null && mysql.superReadOnly && receiverStopped,
    executed: mysql?.executed ?? "",
    retrieved: mysql?.retrieved ?? "",
    serverUuid: mysql?.serverUuid ?? "",
  };
}

/** Lets a loop wait for the next of several events, at most for a time. */
class News {
  #told = false;
  #wake: (() => void) | null = null;

  tell(): void {
    this.#told = true;
    this.#wake?.();
  }

  async wait(ms: number): Promise<void> {
    if (!this.#told) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(1, ms));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = null;
    this.#told = false;
  }
}
