// The problem table: what is wrong with a triple, and which recovery it asks for. Pure: a snapshot in, the problems out,
// the most pressing first. Nothing here is a safety mechanism: every recovery checks again before each step.
import { factsOf } from "./facts.ts";
import type { Problem, ProblemRow, Recovery } from "./problem.ts";
import { RECORD_ROWS } from "./problems-record.ts";
import { REPLICA_ROWS } from "./problems-replicas.ts";
import { SOURCE_ROWS } from "./problems-source.ts";
import { answering, type Snapshot } from "./snapshot.ts";

/** In order of priority. */
export const PROBLEM_TABLE: readonly ProblemRow[] = [...RECORD_ROWS, ...SOURCE_ROWS, ...REPLICA_ROWS];

/** Codes of a triple without a record. */
export const NO_RECORD_CODES = ["HALTED", "TRIPLE_NEW", "RECORD_LOST", "TRIPLE_UNSEEN"] as const;

/** Every problem of a triple now, the most pressing first. */
export function problemsOf(snapshot: Snapshot): readonly Problem[] {
  if (snapshot.halted !== null) return [blocking("HALTED", null, snapshot.halted, true)];
  if (snapshot.record === null) return [withoutRecord(snapshot)];
  const facts = factsOf(snapshot, snapshot.record);
  return PROBLEM_TABLE.flatMap((row, index) => {
    const match = row.matches(facts);
    const { code, blocks, page } = row;
    return match === null ? [] : [{ blocks, ...match, code, page, rank: index + NO_RECORD_CODES.length }];
  });
}

/** The problem to act on now; null when there is none or a person must act first. */
export function toActOn(problems: readonly Problem[]): (Problem & { readonly recovery: Recovery }) | null {
  for (const problem of problems) {
    const { recovery } = problem;
    if (recovery !== null) return { ...problem, recovery };
    if (problem.blocks) return null;
  }
  return null;
}

function withoutRecord(snapshot: Snapshot): Problem {
  const states = snapshot.views.map((view) => answering(view, snapshot.nowMs));
  if (states.every((state) => state?.pristine === true))
    return blocking("TRIPLE_NEW", { do: "birth" }, undefined, false);
  const lived = states.some((state) => state !== null && state.mysql !== null && !state.pristine);
  if (!lived) return blocking("TRIPLE_UNSEEN", null, "not every agent has answered yet", false);
  const restorable = states.every((state) => state?.data === "VALID" && state.mysql !== null);
  const recovery = restorable && snapshot.recordLostConfirmed ? ({ do: "restore-record" } as const) : null;
  return blocking("RECORD_LOST", recovery, "a person must confirm that the record may be made anew", true);
}

function blocking(
  code: (typeof NO_RECORD_CODES)[number],
  recovery: Recovery | null,
  detail: string | undefined,
  page: boolean,
): Problem {
  const rank = NO_RECORD_CODES.indexOf(code);
  return { code, recovery, blocks: true, page, rank, ...(detail === undefined ? {} : { detail }) };
}
