import { sleep } from "../../runtime/clock.ts";
import type { Deadline } from "../../runtime/clock.ts";
import type { Session } from "./session.ts";

const WAIT_SLICE_MS = 500;
const RETRY_MS = 20;

/** Union of two sets; not normalised, every function of MySQL takes it. */
export function union(a: string, b: string): string {
  return a === "" ? b : b === "" ? a : `${a},${b}`;
}

export async function isSubset(session: Session, inner: string, outer: string): Promise<boolean> {
  const [row] = await session.query<{ yes: number }>("SELECT GTID_SUBSET(?, ?) AS yes", [inner, outer]);
  return row?.yes === 1;
}

/** Everything of `a` that is not in `b`. */
export async function subtract(session: Session, a: string, b: string): Promise<string> {
  const [row] = await session.query<{ rest: string }>("SELECT GTID_SUBTRACT(?, ?) AS rest", [a, b]);
  return (row?.rest ?? "").replaceAll(/\s/g, "");
}

/** Waits until `set` is executed; false when it is not at the deadline or `stop` says so. */
export async function waitExecuted(
  session: Session,
  set: string,
  deadline: Deadline,
  stop: () => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    const sliceMs = Math.min(WAIT_SLICE_MS, deadline.remainingMs());
    const [row] = await session.query<{ timedOut: number }>("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS timedOut", [
      set,
      Math.max(0.001, sliceMs / 1000),
    ]);
    if (row?.timedOut === 0) return true;
    if (deadline.passed || (await stop())) return false;
    await sleep(RETRY_MS);
  }
}
