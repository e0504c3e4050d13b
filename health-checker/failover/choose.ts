// CHOOSE: from what the servers of one epoch have answered, who may lead and who follows. Pure.
//
// A server may lead only if what it holds contains Base of a condition that holds:
//   Q1  every member of the ack-set was read at this epoch: Base = union of what they hold;
//   Q2  the recorded source was read, so it is closed and has no pending write: Base = what it holds.
import {
  countOf,
  formatGtidSet,
  isEmpty,
  isSubset,
  parseGtidSet,
  subtract,
  unionOf,
  type GtidSet,
} from "./gtid-set.ts";
import { withMembers, type TripleRecord } from "./record.ts";

/** One server's answer to a revoke of this epoch. */
export interface Reply {
  readonly server: string;
  readonly epoch: number;
  readonly valid: boolean;
  readonly closed: boolean;
  readonly executed: string;
  readonly retrieved: string;
  readonly serverUuid: string;
}

export interface Choice {
  readonly candidate: string;
  readonly condition: "Q1" | "Q2";
  /** F: those that may follow at once. */
  readonly followers: readonly string[];
  readonly ackSet: readonly string[];
  readonly tenure: number;
  /** S(candidate), and the union that it had to contain. */
  readonly set: GtidSet;
  readonly base: GtidSet;
}

export type NoChoice =
  /** Neither Q1 nor Q2: more answers are needed. */
  | "TOO_FEW_READ"
  /** A condition holds, and no server contains its Base: errant data, a person must look. */
  | "NOT_COMPARABLE";

export interface Preference {
  /** Leads if it may: the target of a switchover, or the source after a restart. */
  readonly prefer: string | null;
  /** Leads only if nobody else may: whatever is wrong with it is no matter of what it holds. */
  readonly avoid?: string | null;
  /** Servers that could not apply what they have received. */
  readonly exclude: ReadonlySet<string>;
  /** In the order of the configuration; the first of equals. */
  readonly order: readonly string[];
}

/** A runtime assertion that does not hold: nothing more is done for this triple until a person has looked. */
export class AssertionViolated extends Error {
  override readonly name = "AssertionViolated";

  constructor(assertion: string, detail: string) {
    super(`assertion ${assertion} does not hold: ${detail}`);
  }
}

/**
 * @param replies of servers that answered this epoch, closed and valid (assertion A1)
 * @throws AssertionViolated
 */
export function choose(
  record: TripleRecord,
  replies: ReadonlyMap<string, Reply>,
  preference: Preference,
): Choice | NoChoice {
  assertReplies(record, replies);
  const sets = new Map([...replies.values()].map((reply) => [reply.server, heldBy(reply)]));
  const conditions = conditionsThatHold(record, sets);
  if (conditions.length === 0) return "TOO_FEW_READ";
  const eligible = withMembers(record.ackSet, [record.src]).filter((name) => !preference.exclude.has(name));
  const options = conditions.flatMap(({ condition, base }) =>
    eligible
      .filter((name) => isSubset(base, sets.get(name) ?? new Map()) && sets.has(name))
      .map((name) => ({ name, condition, base })),
  );
  const best = options.toSorted((a, b) => score(b) - score(a))[0];
  if (best === undefined) return "NOT_COMPARABLE";
  const choice = choiceOf(record, sets, best);
  assertChoice(record, sets, choice);
  return choice;

  function score({ name, condition }: (typeof options)[number]): number {
    const reply = replies.get(name);
    const backlog = reply === undefined ? 0 : backlogOf(reply);
    const q1 = conditions.some((holding) => holding.condition === "Q1");
    // One that leaves nobody to acknowledge opens, and then waits.
    const set = sets.get(name) ?? new Map();
    const followed = [...sets].some(([other, held]) => other !== name && isSubset(held, set)) ? 5e10 : 0;
    const preferred = name === preference.prefer ? 1e12 : 0;
    const avoided = name === preference.avoid ? 1e13 : 0;
    const source = !q1 && name === record.src ? 1e11 : 0;
    const order = preference.order.length - preference.order.indexOf(name);
    return (
      preferred - avoided + source + followed - Math.min(backlog, 1e8) * 100 + order + (condition === "Q1" ? 0.5 : 0)
    );
  }
}

export function heldBy(reply: Reply): GtidSet {
  return unionOf(parseGtidSet(reply.executed), parseGtidSet(reply.retrieved));
}

function backlogOf(reply: Reply): number {
  return countOf(subtract(parseGtidSet(reply.retrieved), parseGtidSet(reply.executed)));
}

function conditionsThatHold(
  { ackSet, src }: TripleRecord,
  sets: ReadonlyMap<string, GtidSet>,
): { readonly condition: "Q1" | "Q2"; readonly base: GtidSet }[] {
  const holding: { condition: "Q1" | "Q2"; base: GtidSet }[] = [];
  const read = ackSet.flatMap((name) => sets.get(name) ?? []);
  if (ackSet.length > 0 && read.length === ackSet.length) holding.push({ condition: "Q1", base: unionOf(...read) });
  const source = sets.get(src);
  if (source !== undefined) holding.push({ condition: "Q2", base: source });
  return holding;
}

function choiceOf(
  record: TripleRecord,
  sets: ReadonlyMap<string, GtidSet>,
  { name, condition, base }: { name: string; condition: "Q1" | "Q2"; base: GtidSet },
): Choice {
  const set = sets.get(name) ?? new Map();
  const followers = [...sets].filter(([other, held]) => other !== name && isSubset(held, set)).map(([other]) => other);
  const covered = followers.some((other) => isSubset(set, sets.get(other) ?? new Map()));
  const again = name === record.src;
  // The same server leads again: no member is dropped. Another one stays a member until a follower has caught up.
  const ackSet = again ? withMembers(record.ackSet, followers) : withMembers(followers, covered ? [] : [name]);
  const tenure = again && record.tenure !== 0 ? record.tenure : record.epoch;
  return { candidate: name, condition, followers, ackSet, tenure, set, base };
}

/** A1: only answers of this very epoch, of valid data, of servers that are closed. */
function assertReplies(record: TripleRecord, replies: ReadonlyMap<string, Reply>): void {
  for (const { server, epoch, valid, closed } of replies.values()) {
    if (epoch !== record.epoch) throw new AssertionViolated("A1", `${server} answered epoch ${epoch}`);
    if (!valid) throw new AssertionViolated("A1", `the data of ${server} is void`);
    if (!closed) throw new AssertionViolated("A1", `${server} is not closed`);
  }
}

/** A2: the candidate holds Base and was in the record; its followers hold nothing else; somebody can cover. */
function assertChoice(record: TripleRecord, sets: ReadonlyMap<string, GtidSet>, choice: Choice): void {
  const { candidate, followers, ackSet, set, base } = choice;
  const missing = subtract(base, set);
  if (!isEmpty(missing)) throw new AssertionViolated("A2", `${candidate} lacks ${formatGtidSet(missing)}`);
  if (candidate !== record.src && !record.ackSet.includes(candidate)) {
    throw new AssertionViolated("A2", `${candidate} is not in the record`);
  }
  const errant = followers.find((name) => !isSubset(sets.get(name) ?? new Map(), set));
  if (errant !== undefined) throw new AssertionViolated("A2", `${errant} holds what ${candidate} does not`);
  if (ackSet.length === 0) throw new AssertionViolated("A2", "the new ack-set is empty");
}
