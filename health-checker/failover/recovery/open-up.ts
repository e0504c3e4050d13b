// From a confirmed PROMOTE to IDLE: the recorded source is armed, its followers connect, it is opened. These steps need
// the control database only for the last; however late they come, an agent that has heard of a newer epoch refuses.
import { sleep } from "../../../runtime/clock.ts";
import { AssertionViolated } from "../choose.ts";
import { gtidText, type Job } from "../job.ts";
import { parseGtidSet, type GtidSet } from "../gtid-set.ts";
import { setOf } from "../snapshot.ts";
import { FOLLOW_DEADLINE_MS, OBSERVE_DEADLINE_MS, OPEN_DEADLINE_MS, PREPARE_DEADLINE_MS } from "../thresholds.ts";

/** IDLE is recorded when the source is open; followers that are late are rejoined afterwards. */
const FOLLOWERS_WAIT_MS = 1_000;

export interface Followers {
  readonly names: readonly string[];
  readonly sourceUuid: string;
  /** S(source) as read before it is opened. */
  readonly sourceSet: GtidSet;
}

/** @throws CommandFailed, AssertionViolated, LeadLost, RecordMoved */
export async function openUp(job: Job, followers: Followers): Promise<void> {
  const { src, phase } = job.record;
  if (phase !== "PROMOTE") throw new AssertionViolated("A3", "prepare without a confirmed PROMOTE");
  await job.command(src, "prepare", { followers: [...followers.names] }, PREPARE_DEADLINE_MS, false);
  const following = Promise.allSettled(followers.names.map((name) => followOne(job, name, followers)));
  await job.command(src, "open", {}, OPEN_DEADLINE_MS, false);
  const timer = new AbortController();
  await Promise.race([following, sleep(FOLLOWERS_WAIT_MS, timer.signal)]);
  timer.abort();
  await job.cas("IDLE", { phase: "IDLE" });
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
  });
  return sourceSet;
}
