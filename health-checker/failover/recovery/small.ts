// Recoveries of one or two steps.
import { withMembers, withoutMember, type TripleRecord } from "../record.ts";
import { Job, type JobPlan, type TripleContext } from "../job.ts";
import type { ServerView } from "../server-view.ts";

/** Above every epoch that an agent of a lost record may have heard by some late command. */
const LOST_RECORD_EPOCH_MARGIN = 1_000;

/** Goes back from REVOKE: the source is open and was not closed. Receivers that were stopped are rejoined afterwards. */
export async function abort(context: TripleContext, plan: JobPlan): Promise<void> {
  const job = await Job.begin(context, plan, "ABORT", { phase: "IDLE", victim: null });
  job.finish("UNDONE", "the source is open and goes on");
}

/** A follower holds what the source held when it began to lead: the source need not cover for it any more. */
export async function settle(context: TripleContext, plan: JobPlan): Promise<void> {
  const job = Job.resume(context, plan);
  const { ackSet, src } = job.record;
  await job.cas("SETTLE", { ackSet: withoutMember(ackSet, src) });
}

/** The source may hold acknowledged writes that no replica has: it joins the ack-set, and nobody leads without it. */
export async function cover(context: TripleContext, plan: JobPlan): Promise<void> {
  const job = Job.resume(context, plan);
  const { ackSet, src } = job.record;
  await job.cas("COVER", { ackSet: withMembers(ackSet, [src]) });
}

/** The record of a triple whose three servers were never used: nothing was ever acknowledged, the first one leads. */
export function newRecord(tripleId: string, stripe: number, order: readonly string[], owner: string): TripleRecord {
  const [src = "", ...others] = order;
  const base = { tripleId, stripe, owner, epoch: 1, phase: "IDLE", tenure: 0, victim: null, u: null } as const;
  return { ...base, src, ackSet: others.toSorted(), version: 1 };
}

/**
 * The record made anew from what all three servers say, with a person's word that it was lost. The source is the one
 * that was opened last, not the one that holds most: that may be an errant tail.
 */
export function restoredRecord(
  tripleId: string,
  stripe: number,
  views: readonly ServerView[],
  owner: string,
): TripleRecord {
  const files = views.map((view) => ({ name: view.name, file: view.state?.file }));
  const newest = files.toSorted((a, b) => (b.file?.openEpoch ?? 0) - (a.file?.openEpoch ?? 0))[0];
  const epoch = Math.max(...files.map(({ file }) => file?.epoch ?? 0)) + LOST_RECORD_EPOCH_MARGIN;
  const base = { tripleId, stripe, owner, epoch, phase: "REVOKE", tenure: epoch, victim: null, u: null } as const;
  return { ...base, src: newest?.name ?? "", ackSet: files.map(({ name }) => name).toSorted(), version: 1 };
}
