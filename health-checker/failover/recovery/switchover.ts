// A planned change of source: no acknowledged write is lost, no outcome is unknown, and the pause is that of a few
// statements. The source is closed first, while its replicas still receive, so that no commit in flight is left without
// an answer. Until it is closed nothing has changed; after it, and until PROMOTE, undoing is choosing the old source.
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { heldBy } from "../choose.ts";
import { isSubset } from "../gtid-set.ts";
import { CommandFailed, Job, type JobPlan, type TripleContext } from "../job.ts";
import { setOf } from "../snapshot.ts";
import { CATCH_UP_MS, OBSERVE_DEADLINE_MS, REVOKE_GRACEFUL_DEADLINE_MS, STEP_POLL_MS } from "../thresholds.ts";
import { type LeadResult, promote } from "./lead.ts";
import { newReading, readUntilChosen, replyOf, type Reading } from "./read.ts";

const HOLD_UPS_DEADLINE_MS = 2_500;

/**
 * Pre-checks at the source, before anything is changed: a schema change that runs, or a transaction that has been open
 * for long, would hold up the closing, or be cut off by it. @returns why not now, or null
 */
export async function heldUp(context: TripleContext): Promise<string | null> {
  const source = context.keeper.record?.src ?? "";
  try {
    const [longest] = (await context.agents.get(source)?.holdUps(HOLD_UPS_DEADLINE_MS)) ?? [];
    if (longest === undefined) return null;
    const { what, session, user, ageMs, statement } = longest;
    const doing = statement === "" ? "" : `: ${statement}`;
    return `a ${what} of ${user} (session ${session}) has run for ${(ageMs / 1_000).toFixed(1)} s at ${source}${doing}`;
  } catch (error) {
    return `the sessions of ${source} could not be looked at: ${(error as Error).message}`;
  }
}

export type SwitchoverResult =
  | { readonly outcome: "DONE"; readonly result: LeadResult }
  /** The old source leads (again), or goes on leading. */
  | { readonly outcome: "UNDONE"; readonly result: LeadResult; readonly why: string };

/** @throws AssertionViolated, LeadLost, RecordMoved, CommandFailed, ControlDbUnavailable */
export async function switchover(
  context: TripleContext,
  plan: JobPlan,
  target: string,
  onBegin: (recoveryId: string) => void,
): Promise<SwitchoverResult> {
  const job = await Job.begin(context, plan, "REVOKE", { phase: "REVOKE", victim: null });
  onBegin(job.recoveryId);
  const source = job.record.src;
  const reading = newReading();
  const notClosed = await closeSource(job, source, reading);
  if (notClosed !== null) return giveUp(job, notClosed);
  const caughtUp = await hasCaughtUp(job, target, reading);
  const others = context.order.filter((name) => name !== source);
  await readUntilChosen(job, others, target, false, reading);
  const result = await promote(job, reading, caughtUp ? target : source);
  if (!result.done || job.record.src === target) return { outcome: "DONE", result };
  return { outcome: "UNDONE", result, why: `${target} had not caught up within ${CATCH_UP_MS} ms` };
}

/** Null when the source is read-only: no commit waits there, and none can begin. Else why it is not. */
async function closeSource(job: Job, source: string, reading: Reading): Promise<string | null> {
  try {
    const reply = await job.command(source, "revoke", { mode: "graceful" }, REVOKE_GRACEFUL_DEADLINE_MS);
    reading.replies.set(source, replyOf(reply.state, reply.epoch));
    return null;
  } catch (error) {
    if (error instanceof CommandFailed) return error.code;
    throw error;
  }
}

/** Waits until the target has received everything; its receiver still runs. */
async function hasCaughtUp(job: Job, target: string, reading: Reading): Promise<boolean> {
  const goal = [...reading.replies.values()].map(heldBy)[0];
  const deadline = new Deadline(CATCH_UP_MS);
  while (goal !== undefined && !deadline.passed) {
    try {
      const { state } = await job.command(target, "observe", {}, OBSERVE_DEADLINE_MS);
      if (state.mysql !== null && isSubset(goal, setOf(state.mysql))) return true;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return false;
    }
    await sleep(STEP_POLL_MS);
  }
  return false;
}

/** The source was not closed: it goes on, after a look that it does. */
async function giveUp(job: Job, code: string): Promise<SwitchoverResult> {
  const result = { job, done: false, base: null };
  if (code !== "STILL_OPEN") {
    job.note("blocked", null, `the source could not be closed: ${code}`);
    return { outcome: "UNDONE", result, why: `the source could not be closed: ${code}` };
  }
  await job.cas("ABORT", { phase: "IDLE", epoch: job.record.epoch + 1 });
  const why = "a commit or a schema change in flight did not end within a second";
  job.finish("UNDONE", why);
  return { outcome: "UNDONE", result, why };
}
