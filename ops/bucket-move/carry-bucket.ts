// The part of a bucket's move that happens in the two stripes. It may be run again at any point, also while another run
// of the same move is under way: every step names the move's epoch, and the stripes' own rows decide.
import type { WireIndexRow } from "../../core/schemas/wire-jump.ts";
import { type BucketClient, StepRefused } from "./bucket-client.ts";

export type MoveStep = "import" | "fence" | "page" | "activate" | "table";

/** Told after each step; throwing there leaves the move as a crash would. */
export type AfterStep = (step: MoveStep) => Promise<void>;

/**
 * Makes `to` the home of the bucket in place of `from`. Between the fence and the activation the bucket has no home:
 * creates wait a moment, then jump.
 * @returns rows that were copied by this run
 * @throws StripeAway (run it again), StepRefused (not this move's turn)
 */
export async function carryBucket(
  from: BucketClient,
  to: BucketClient,
  moveEpoch: number,
  afterStep: AfterStep,
): Promise<number> {
  const before = await to.step("import", moveEpoch);
  await afterStep("import");
  if (before.role === "HOME") return 0;
  await from.step("fence", moveEpoch);
  await afterStep("fence");
  try {
    const copied = await copyRows(from, to, moveEpoch, afterStep);
    await to.step("activate", moveEpoch);
    await afterStep("activate");
    return copied;
  } catch (error) {
    if (error instanceof StepRefused && isHomeBy(error, moveEpoch)) return 0; // another run was faster
    throw error;
  }
}

function isHomeBy({ state }: StepRefused, moveEpoch: number): boolean {
  return state.role === "HOME" && state.move_epoch === moveEpoch;
}

/** Copies what the fence has frozen. A row that was copied before is written over with the same. */
async function copyRows(
  from: BucketClient,
  to: BucketClient,
  moveEpoch: number,
  afterStep: AfterStep,
): Promise<number> {
  let copied = 0;
  let last: WireIndexRow | undefined;
  for (;;) {
    const rows = await from.rows(moveEpoch, last);
    last = rows.at(-1);
    if (last === undefined) return copied;
    await to.put(moveEpoch, rows);
    copied += rows.length;
    await afterStep("page");
  }
}
