// The one recovery of a source: failover, a restart of one or all, the bring-up of a new triple, a switchover and its
// undoing are all REVOKE, READ, CHOOSE, PROMOTE, open. It decides from what the servers answer at its own epoch, never
// from what was observed before.
import { LEADS_WITHIN_MS } from "../../../core/leading.ts";
import { Deadline, monotonicMs, sleep } from "../../../runtime/clock.ts";
import { AssertionViolated, type Choice } from "../choose.ts";
import { isDead } from "../facts.ts";
import { formatGtidSet, parseGtidSet, type GtidSet } from "../gtid-set.ts";
import { CommandFailed, Job, type JobPlan, type TripleContext } from "../job.ts";
import { answering } from "../snapshot.ts";
import { APPLY_DEADLINE_MS, READ_ALONE_MS, STEP_POLL_MS } from "../thresholds.ts";
import { openUp, spareFor, type Followers } from "./open-up.ts";
import { chooseNow, newReading, readUntilChosen, type Reading } from "./read.ts";

const INITIALISE_DEADLINE_MS = 5_000;

export interface LeadResult {
  readonly job: Job;
  readonly done: boolean;
  /** S(source) at CHOOSE; null when nothing was promoted. */
  readonly base: GtidSet | null;
}

/** @throws AssertionViolated, LeadLost, RecordMoved, CommandFailed, ControlDbUnavailable */
export async function lead(
  context: TripleContext,
  plan: JobPlan,
  options: { readonly prefer: string | null; readonly avoid?: string; readonly killSource: boolean },
): Promise<LeadResult> {
  const job = await Job.begin(context, plan, "REVOKE", { phase: "REVOKE", victim: null });
  if (job.record.tenure === 0) await initialisePristine(job);
  const { prefer, avoid, killSource } = options;
  const { reading } = await readUntilChosen(job, context.order, prefer, killSource, newReading(avoid ?? null));
  return promote(job, reading, prefer);
}

/** A server that was never used becomes empty valid data; only while no server of the triple was ever opened. */
async function initialisePristine(job: Job): Promise<void> {
  const pristine = job.context.order.filter((server) => job.context.view(server).state?.pristine === true);
  await Promise.all(pristine.map((server) => job.command(server, "initialise", {}, INITIALISE_DEADLINE_MS)));
}

/** CHOOSE … IDLE with what was read. A candidate that cannot execute what it has received gives way to another one. */
export async function promote(job: Job, reading: Reading, prefer: string | null): Promise<LeadResult> {
  const exclude = new Set<string>();
  for (;;) {
    const first = chooseNow(job, reading, prefer, exclude);
    const alone = typeof first !== "string" && first.followers.length === 0;
    if (alone) await othersOnTheirWay(job, reading);
    const choice = alone ? chooseNow(job, reading, prefer, exclude) : first;
    if (typeof choice === "string") return blocked(job, reading, choice);
    if (!(await applied(job, reading, choice))) {
      exclude.add(choice.candidate);
      continue;
    }
    const { candidate, condition, ackSet, tenure, set, base } = choice;
    const u = formatGtidSet(base);
    await untilNotBelieved(job, reading, candidate);
    job.note("choose", candidate, `${condition}; read ${[...reading.replies.keys()].join(",")}; base ${u}`);
    await job.cas("PROMOTE", { phase: "PROMOTE", src: candidate, tenure, ackSet, u });
    await openUp(job, followersOf(job, reading, choice));
    job.finish("DONE", null);
    return { job, done: true, base: set };
  }
}

/**
 * A source that was not closed, and may still be asked by clients, shows a beat of before its acknowledgements ended: it
 * must not be believed any more (core/leading.ts) when another one is recorded.
 */
async function untilNotBelieved(job: Job, reading: Reading, candidate: string): Promise<void> {
  const { src, ackSet } = job.record;
  const mayBeAsked = (): boolean => {
    if (candidate === src || reading.replies.has(src)) return false;
    const [view, now] = [job.context.view(src), monotonicMs()];
    const state = answering(view, now);
    const isClosed = state !== null && state.mysql !== null && state.role !== "open";
    return !isClosed && !isDead(view, now);
  };
  const nowMs = monotonicMs();
  const heardMs = Math.max(...ackSet.map((name) => (name === src ? 0 : (reading.heardMs.get(name) ?? nowMs))));
  while (mayBeAsked() && monotonicMs() <= heardMs + LEADS_WITHIN_MS) {
    job.assertLeads();
    await sleep(STEP_POLL_MS);
  }
}

/** A source without a follower cannot commit: it may as well wait for a server that is being closed now. */
async function othersOnTheirWay(job: Job, reading: Reading): Promise<void> {
  const deadline = new Deadline(READ_ALONE_MS);
  const onTheirWay = (): boolean => {
    return [...reading.pending].some((server) => answering(job.context.view(server), monotonicMs()) !== null);
  };
  while (onTheirWay() && !deadline.passed) {
    job.assertLeads();
    await sleep(STEP_POLL_MS);
  }
}

/** R3: whatever it has received is executed before anything else happens to it. */
async function applied(job: Job, reading: Reading, { candidate, set }: Choice): Promise<boolean> {
  const reply = reading.replies.get(candidate);
  const executed = parseGtidSet(reply?.executed ?? "");
  if (formatGtidSet(executed) === formatGtidSet(set)) return true;
  try {
    await job.command(candidate, "apply", {}, APPLY_DEADLINE_MS);
    return true;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    job.logger.error({ err: error.message, server: candidate }, "cannot execute what it has received");
    return false;
  }
}

function followersOf(job: Job, reading: Reading, choice: Choice): Followers {
  const reply = reading.replies.get(choice.candidate);
  if (reply === undefined) throw new AssertionViolated("A1", `${choice.candidate} was not read`);
  const { candidate, ackSet, followers: names, set: sourceSet } = choice;
  return { names, sourceUuid: reply.serverUuid, sourceSet, spare: spareFor(job, ackSet, candidate, sourceSet) };
}

/** The record stays in REVOKE: nothing was promoted, and whoever looks next tries again or goes back. */
function blocked(job: Job, reading: Reading, why: "TOO_FEW_READ" | "NOT_COMPARABLE"): LeadResult {
  const failures = [...reading.failures].map(([server, code]) => `${server}: ${code}`).join(", ");
  const read = [...reading.replies.keys()].join(",");
  job.note("blocked", null, `${why}; read ${read || "nobody"}; ${failures}`);
  job.logger.error({ why, read, failures }, "nobody may lead");
  return { job, done: false, base: null };
}
