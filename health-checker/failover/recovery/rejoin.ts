// REJOIN and REBUILD of one server: it is closed first, then compared with what the source holds after that; it is in
// the record before it can acknowledge, and its data is thrown away only when it is not in the record.
import { monotonicMs, sleep } from "../../../runtime/clock.ts";
import { AssertionViolated } from "../choose.ts";
import { formatGtidSet, isSubset, subtract, type GtidSet } from "../gtid-set.ts";
import { gtidText, Job, type JobPlan, type TripleContext } from "../job.ts";
import { withMembers } from "../record.ts";
import { mysqlOf, setOf } from "../snapshot.ts";
import {
  ADMIT_DEADLINE_MS,
  FOLLOW_DEADLINE_MS,
  OBSERVE_DEADLINE_MS,
  REBUILD_DEADLINE_MS,
  REVOKE_DEADLINE_MS,
} from "../thresholds.ts";

/** A write on its way to its acknowledgement looks errant for a moment. */
const COMPARE_TRIES = 4;
const COMPARE_EVERY_MS = 250;

export type RejoinResult =
  | { readonly did: "rejoined" }
  /** In the ack-set with transactions that the source lacks: to be dropped from it first. */
  | { readonly did: "must-narrow" }
  /** The copy goes on by itself; `finished` tells when it has ended. */
  | { readonly did: "rebuilding"; readonly finished: Promise<void> };

/**
 * @param rebuild replace the data even when its transactions are all known to the source
 * @throws AssertionViolated, LeadLost, RecordMoved, CommandFailed, ControlDbUnavailable
 */
export async function rejoin(
  context: TripleContext,
  plan: JobPlan,
  server: string,
  rebuild: boolean,
): Promise<RejoinResult> {
  const job = await Job.begin(context, plan, "REJOIN", {});
  const isVoid = context.view(server).state?.data === "VOID";
  if (!isVoid) {
    const revoked = await job.command(server, "revoke", { mode: "kill" }, REVOKE_DEADLINE_MS);
    const { mysql, file } = revoked.state;
    if (mysql === null) throw new AssertionViolated("A1", `${server} answered without a state`);
    const member = job.record.ackSet.includes(server);
    const exempt = member && file !== null && file.followTenure === job.record.tenure;
    const source = await compare(job, server, setOf(mysql), exempt);
    if (source.clean && !rebuild) return follow(job, server, source);
    if (member) {
      job.finish("BLOCKED", `in the ack-set, and holds what the source does not: ${source.errant}`);
      return { did: "must-narrow" };
    }
  }
  return startRebuild(job, server);
}

interface Compared {
  readonly clean: boolean;
  readonly errant: string;
  readonly set: GtidSet;
  readonly uuid: string;
}

/** J3: S(source) is read after the server was closed. */
async function compare(job: Job, server: string, held: GtidSet, exempt: boolean): Promise<Compared> {
  for (let tries = 1; ; tries++) {
    const read = await readSource(job);
    const clean = exempt || isSubset(held, read.set);
    const errant = formatGtidSet(subtract(held, read.set));
    if (clean || tries === COMPARE_TRIES) {
      if (!clean) job.note("errant", server, errant);
      return { clean, errant, ...read };
    }
    await sleep(COMPARE_EVERY_MS);
  }
}

async function readSource(job: Job): Promise<{ readonly set: GtidSet; readonly uuid: string }> {
  const { state } = await job.command(job.record.src, "observe", {}, OBSERVE_DEADLINE_MS);
  if (state.mysql === null) throw new AssertionViolated("A1", "the source answered without a state");
  return { set: setOf(state.mysql), uuid: state.mysql.serverUuid };
}

async function follow(job: Job, server: string, source: Compared): Promise<RejoinResult> {
  const { src, tenure, ackSet } = job.record;
  if (!ackSet.includes(server)) await job.cas("WIDEN", { ackSet: withMembers(ackSet, [server]) });
  if (!job.record.ackSet.includes(server)) throw new AssertionViolated("A4", `${server} is not in the ack-set`);
  await job.command(src, "admit", { replica: server }, ADMIT_DEADLINE_MS);
  const args = { source: src, sourceUuid: source.uuid, sourceSet: gtidText(source.set), tenure };
  await job.command(server, "follow", args, FOLLOW_DEADLINE_MS);
  job.finish("DONE", null);
  return { did: "rejoined" };
}

async function startRebuild(job: Job, server: string): Promise<RejoinResult> {
  job.kind = "REBUILD";
  const { src, ackSet } = job.record;
  const { set } = await readSource(job);
  const donor = donorFor(job, server);
  // A6: what may hold the only copy of an acknowledged write is never thrown away, and only good data is copied.
  if (ackSet.includes(server) || server === src) throw new AssertionViolated("A6", `${server} is in the record`);
  if (donor !== src && !ackSet.includes(donor)) throw new AssertionViolated("A6", `${donor} is not in the record`);
  const args = { donor, source: src, sourceSet: gtidText(set) };
  const finished = job
    .command(server, "rebuild-from", args, REBUILD_DEADLINE_MS)
    .then((reply) => job.finish("DONE", reply.archivedTail ? `errant tail kept in ${reply.archivedTail}` : null))
    .catch((error: unknown) => job.finish("FAILED", (error as Error).message));
  return { did: "rebuilding", finished };
}

/** A replica spares the source the reading; the source itself is always good. */
function donorFor(job: Job, server: string): string {
  const { src, ackSet } = job.record;
  const sourceUuid = job.context.view(src).state?.mysql?.serverUuid;
  const good = job.context.order.find((name) => {
    const mysql = mysqlOf(job.context.view(name), monotonicMs());
    const follows = mysql?.receiver?.receiving === true && mysql.receiver.sourceUuid === sourceUuid;
    return name !== server && name !== src && ackSet.includes(name) && mysql?.replicaArmed === true && follows;
  });
  return good ?? src;
}
