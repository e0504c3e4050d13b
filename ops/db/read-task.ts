import type { Knex } from "knex";
import { fromDbTime } from "../../core/time.ts";

interface RequestRow {
  request_id: string;
  triple_id: string;
  target: string | null;
  requested_by: string;
  request_time: string;
  state: string;
  detail: string | null;
  recovery_id: string | null;
  finish_time: string | null;
}

interface StepRow {
  step: string;
  server: string | null;
  outcome: string;
  took_ms: number;
  detail: string | null;
  step_time: string;
}

/** A switchover as a task with the steps that were taken so far; undefined when there is no such task. */
export async function readTask(control: Knex, id: string): Promise<object | undefined> {
  const row = (await control<RequestRow>("switchover_requests").where({ request_id: id }).first()) as
    | RequestRow
    | undefined;
  if (row === undefined) return undefined;
  const steps =
    row.recovery_id === null
      ? []
      : ((await control("recovery_steps")
          .where({ recovery_id: row.recovery_id })
          .orderBy("id")
          .select("step", "server", "outcome", "took_ms", "detail", "step_time")) as StepRow[]);
  return {
    id: row.request_id,
    kind: "switchover",
    triple: row.triple_id,
    to: row.target,
    requested_by: row.requested_by,
    request_time: fromDbTime(row.request_time),
    state: row.state,
    detail: row.detail,
    recovery_id: row.recovery_id,
    finish_time: row.finish_time === null ? null : fromDbTime(row.finish_time),
    steps: steps.map((step) => ({ ...step, step_time: fromDbTime(step.step_time) })),
  };
}
