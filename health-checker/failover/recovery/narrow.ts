// NARROW: a member that is lost is dropped from the ack-set, so that a crash of the source is survivable without it. Not
// hearing of it is not enough: it is kept out at the source, and another member must hold all that it may have covered.
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { AssertionViolated } from "../choose.ts";
import { isSubset, parseGtidSet } from "../gtid-set.ts";
import { serverLetter } from "../../../core/agent-wire.ts";
import { Job, type JobPlan, type TripleContext } from "../job.ts";
import { withoutMember } from "../record.ts";
import { setOf } from "../snapshot.ts";
import { COVER_WAIT_MS, CUT_DEADLINE_MS, STEP_POLL_MS } from "../thresholds.ts";

/** Begins at N1, or at N2 when the record is in NARROW already. @throws as `Job` does */
export async function narrow(context: TripleContext, plan: JobPlan, victim: string): Promise<void> {
  const begun = context.keeper.record?.phase === "NARROW";
  const job = begun ? Job.resume(context, plan) : await Job.begin(context, plan, "NARROW", { phase: "NARROW", victim });
  const { src, ackSet } = job.record;
  const others = withoutMember(ackSet, victim).filter((name) => name !== src);
  if (others.length === 0) throw new AssertionViolated("A5", "the ack-set would be empty");
  const cut = await job.command(src, "cut", { replica: victim }, CUT_DEADLINE_MS);
  const source = cut.state.mysql;
  const isVictims = (user: string): boolean => user.endsWith(`_${serverLetter(victim)}`);
  if (
    source === null ||
    source.unlockedAccounts.some(isVictims) ||
    source.dumpThreads.some(({ user }) => isVictims(user))
  ) {
    throw new AssertionViolated("A5", `${victim} can still connect to ${src}`);
  }
  const covering = await coveringMember(job, others, source.executed);
  if (covering === null) {
    job.note("blocked", victim, `no other member holds everything within ${COVER_WAIT_MS} ms`);
    return;
  }
  job.note("covered", covering, source.executed);
  await job.cas("NARROWED", { phase: "IDLE", victim: null, ackSet: withoutMember(ackSet, victim) });
  job.finish("DONE", null);
}

/** N3: a member that holds G. */
async function coveringMember(job: Job, others: readonly string[], g: string): Promise<string | null> {
  const goal = parseGtidSet(g);
  const deadline = new Deadline(COVER_WAIT_MS);
  while (!deadline.passed) {
    job.assertLeads();
    for (const name of others) {
      const mysql = job.context.view(name).state?.mysql;
      if (mysql && isSubset(goal, setOf(mysql))) return name;
    }
    await sleep(STEP_POLL_MS);
  }
  return null;
}

/** The record goes back to IDLE with its ack-set as it was: wider than the truth, which is safe. */
export async function leaveNarrow(context: TripleContext, plan: JobPlan): Promise<void> {
  const job = await Job.begin(context, plan, "LEAVE", { phase: "IDLE", victim: null });
  job.finish("UNDONE", "no other member receives any more");
}
