import type { Knex } from "knex";
import { Agent } from "undici";
import { DomainError } from "../../core/errors.ts";
import { assignBuckets } from "../../core/placement.ts";
import { takesCreates, type StripeRow } from "../../core/routing-table.ts";
import { sleep } from "../../runtime/clock.ts";
import { type BucketMove, finishBucketMove, listOpenMoves, openBucketMove } from "../db/bucket-moves.ts";
import { listStripes } from "../db/list-stripes.ts";
import { readBuckets } from "../db/partition-buckets.ts";
import { BucketClient, StripeAway } from "./bucket-client.ts";
import { type AfterStep, carryBucket } from "./carry-bucket.ts";

export interface BucketMover {
  readonly control: Knex;
  /** Longest wait for one call to a stripe. */
  readonly timeoutMs: number;
  readonly actor: string;
  /** For tests: told after each step. */
  readonly afterStep?: AfterStep;
}

export interface MoveTarget {
  readonly partition: string;
  readonly bucket: number;
  /** The stripe that becomes home. */
  readonly to: number;
}

/** Tries while a stripe does not answer, once the move has begun; it stays open after them and is gone on with later. */
const TRIES_MAX = 5;
const RETRY_PAUSE_MS = 200;
const NOTHING: AfterStep = () => Promise.resolve();

/**
 * Moves the home of one bucket. May be called again after any failure: it goes on with the move that is open.
 * @returns whether anything was to be done
 * @throws DomainError STATE_NOT_ALLOWED (another move is open, a stripe is unknown); StripeAway (call again later)
 */
export async function moveBucket(mover: BucketMover, target: MoveTarget): Promise<boolean> {
  const stripes = new Map((await listStripes(mover.control)).map((row) => [row.stripe as number, row]));
  if (!stripes.has(target.to)) throw new DomainError("STATE_NOT_ALLOWED", `there is no stripe ${target.to}`);
  if (stripes.get(target.to)?.partition !== target.partition) {
    throw new DomainError("STATE_NOT_ALLOWED", `stripe ${target.to} does not serve partition ${target.partition}`);
  }
  const move = await openBucketMove(mover.control, target.partition, target.bucket, target.to);
  if (move === null) return false;
  const [from, to] = [stripes.get(move.from), stripes.get(move.to)];
  if (from === undefined || to === undefined)
    throw new DomainError("STATE_NOT_ALLOWED", "a stripe of the move is gone");
  const agent = new Agent({ connections: 2 });
  try {
    await carryPatiently(mover, move, from, to, agent);
  } finally {
    await agent.destroy();
  }
  await finishBucketMove(mover.control, move, mover.actor);
  await (mover.afterStep ?? NOTHING)("table");
  return true;
}

async function carryPatiently(
  mover: BucketMover,
  move: BucketMove,
  from: StripeRow,
  to: StripeRow,
  agent: Agent,
): Promise<void> {
  const client = (row: StripeRow): BucketClient => new BucketClient(row, move.bucket, agent, mover.timeoutMs);
  for (let tries = 1; ; tries++) {
    try {
      await carryBucket(client(from), client(to), move.moveEpoch, mover.afterStep ?? NOTHING);
      return;
    } catch (error) {
      if (!(error instanceof StripeAway) || tries >= TRIES_MAX) throw error;
      await sleep(RETRY_PAUSE_MS);
    }
  }
}

export interface Rebalanced {
  readonly planned: number;
  readonly moved: number;
  /** Buckets that stay where they are, because a stripe of theirs does not answer. */
  readonly left: number;
}

/**
 * Moves buckets of a partition, one at a time, until each stripe is home to its share by weight; those that take no
 * orders keep none. The buckets of a stripe that does not answer stay: their creates jump.
 * @throws DomainError as {@link moveBucket}
 */
export async function rebalance(
  mover: BucketMover,
  partition: string,
  watch: { readonly signal?: AbortSignal; readonly onProgress?: (progress: Rebalanced) => void } = {},
): Promise<Rebalanced> {
  return moveAll(mover, await plannedMoves(mover.control, partition), watch);
}

/** One after another; those of which a stripe does not answer are left. */
async function moveAll(
  mover: BucketMover,
  targets: readonly MoveTarget[],
  watch: { readonly signal?: AbortSignal; readonly onProgress?: (progress: Rebalanced) => void },
): Promise<Rebalanced> {
  let [moved, left] = [0, 0];
  for (const target of targets) {
    if (watch.signal?.aborted === true) break;
    try {
      if (await moveBucket(mover, target)) moved += 1;
    } catch (error) {
      if (!(error instanceof StripeAway)) throw error;
      left += 1;
    }
    watch.onProgress?.({ planned: targets.length, moved, left });
  }
  return { planned: targets.length, moved, left };
}

/**
 * Goes on with the moves of a partition that were begun: a bucket that has left its old home has none until it arrives.
 * @returns how many are left, because a stripe of theirs does not answer
 */
export async function finishOpenMoves(mover: BucketMover, partition: string, signal: AbortSignal): Promise<number> {
  const open = await listOpenMoves(mover.control, partition);
  return (await moveAll(mover, open, { signal })).left;
}

/** Moves that are open come first; then those that the present weights ask for. */
async function plannedMoves(control: Knex, partition: string): Promise<MoveTarget[]> {
  const open = await listOpenMoves(control, partition);
  const begun = new Map(open.map((move) => [move.bucket, move.to]));
  const current = await readBuckets(control, partition);
  const takers = (await listStripes(control)).filter((row) => takesCreates(row, partition));
  if (takers.length === 0) throw new DomainError("STATE_NOT_ALLOWED", "no stripe of the partition takes new orders");
  const wanted = assignBuckets(current, takers);
  const targets: MoveTarget[] = open.map(({ bucket, to }) => ({ partition, bucket, to }));
  for (const [bucket, to] of wanted.entries()) {
    if (to !== null && current[bucket] !== null && current[bucket] !== to && !begun.has(bucket)) {
      targets.push({ partition, bucket, to });
    }
  }
  return targets;
}
