// From a confirmed PROMOTE to IDLE: the recorded source is armed, its followers connect, it is opened. These steps need
// the control database only for the last; however late they come, an agent that has heard of a newer epoch refuses.
import { monotonicMs, sleep } from "../../../runtime/clock.ts";
import { AssertionViolated } from "../choose.ts";
import { gtidText, type Job } from "../job.ts";
import { isSubset, parseGtidSet, type GtidSet } from "../gtid-set.ts";
import { answering, readable, setOf } from "../snapshot.ts";
import {
  FOLLOW_DEADLINE_MS,
  OBSERVE_DEADLINE_MS,
  OPEN_DEADLINE_MS,
  PREPARE_DEADLINE_MS,
  REBUILD_DEADLINE_MS,
} from "../thresholds.ts";

/** IDLE is recorded when the source is open; followers that are late are rejoined afterwards. */
const FOLLOWERS_WAIT_MS = 1_000;
const REBUILD_POLL_MS = 100;

export interface Followers {
  readonly names: readonly string[];
  readonly sourceUuid: string;
  /** S(source) as read before it is opened. */
  readonly sourceSet: GtidSet;
  /** With no follower: a server outside the ack-set whose data is to be replaced before it can be one. */
  readonly spare: string | null;
}

/** @throws CommandFailed, AssertionViolated, LeadLost, RecordMoved */
export async function openUp(job: Job, followers: Followers): Promise<void> {
  const { src, phase } = job.record;
  if (phase !== "PROMOTE") throw new AssertionViolated("A3", "prepare without a confirmed PROMOTE");
  await job.command(src, "prepare", { followers: [...followers.names] }, PREPARE_DEADLINE_MS, false);
  if (followers.names.length === 0 && followers.spare !== null)
    await rebuildSpare(job, followers.spare, followers.sourceSet);
  const following = Promise.allSettled(followers.names.map((name) => followOne(job, name, followers)));
  await job.command(src, "open", {}, OPEN_DEADLINE_MS, false);
  const timer = new AbortController();
  await Promise.race([following, sleep(FOLLOWERS_WAIT_MS, timer.signal)]);
  timer.abort();
  await job.cas("IDLE", { phase: "IDLE" });
}

/**
 * A clone waits for commits that are pending at its donor, and they would wait for the clone: so it is made before the
 * source is opened, when nothing can be pending. Ends early when the third server is back, which can acknowledge.
 */
async function rebuildSpare(job: Job, spare: string, sourceSet: GtidSet): Promise<void> {
  const { src, ackSet } = job.record;
  if (ackSet.includes(spare) || spare === src) throw new AssertionViolated("A6", `${spare} is in the record`);
  const args = { donor: src, source: src, sourceSet: gtidText(sourceSet) };
  let ended = false;
  job
    .command(spare, "rebuild-from", args, REBUILD_DEADLINE_MS)
    .catch((error: unknown) => job.logger.warn({ err: (error as Error).message, spare }, "not rebuilt before opening"))
    .finally(() => {
      ended = true;
    });
  const third = job.context.order.filter((name) => name !== src && name !== spare);
  const thirdIsBack = (): boolean => third.some((name) => readable(job.context.view(name), monotonicMs()));
  while (!ended && !thirdIsBack()) {
    job.assertLeads();
    await sleep(REBUILD_POLL_MS);
  }
}

/** A server that answers, is in no ack-set, and holds no data or data that the source does not have. */
export function spareFor(job: Job, ackSet: readonly string[], src: string, sourceSet: GtidSet): string | null {
  const nowMs = monotonicMs();
  const spare = job.context.order.find((name) => {
    const state = answering(job.context.view(name), nowMs);
    if (name === src || ackSet.includes(name) || state === null || state.mysql === null) return false;
    return state.data === "VOID" || !isSubset(setOf(state.mysql), sourceSet);
  });
  return spare ?? null;
}

async function followOne(job: Job, name: string, followers: Followers): Promise<void> {
  const { src, tenure, ackSet } = job.record;
  if (!ackSet.includes(name)) throw new AssertionViolated("A4", `${name} is not in the recorded ack-set`);
  const { sourceUuid, sourceSet } = followers;
  const args = { source: src, sourceUuid, sourceSet: gtidText(sourceSet), tenure };
  await job.command(name, "follow", args, FOLLOW_DEADLINE_MS, false);
}

/** Goes on with a PROMOTE that was recorded before: the same source, with every member as a follower. */
export async function resumePromote(job: Job): Promise<GtidSet> {
  const { src, ackSet } = job.record;
  const read = await job.command(src, "observe", {}, OBSERVE_DEADLINE_MS);
  const { mysql } = read.state;
  const sourceSet = mysql === null ? parseGtidSet("") : setOf(mysql);
  await openUp(job, {
    names: ackSet.filter((name) => name !== src),
    sourceUuid: mysql?.serverUuid ?? "",
    sourceSet,
    spare: spareFor(job, ackSet, src, sourceSet),
  });
  return sourceSet;
}
