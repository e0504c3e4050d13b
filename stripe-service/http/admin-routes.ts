import { type Request, Router } from "express";
import { type WireStats, wireSequenceRequestSchema, wireStripeStateSchema } from "../../core/schemas/wire.ts";
import { fromDbTime } from "../../core/time.ts";
import { readFence } from "../db/read-fence.ts";
import { COUNTED_MAX, readStats, type StatsRow } from "../db/read-stats.ts";
import { leaseSequenceBlock } from "../orders/lease-sequence-block.ts";
import { setStripeState, stripeStateView } from "../orders/set-stripe-state.ts";
import { type Answer, ok, readHeaders, route, valueOf } from "./answer.ts";
import type { HttpContext } from "./context.ts";
import { bodyOf, deadlineOf } from "./request.ts";

/** Format version of order numbers, as in core/order-number.ts: what all numbers of a stripe begin with. */
const NUMBER_VERSION = "10";
const MINUTE_US = 60_000_000;
const PART_MIN_US = 1_000_000;

export function adminRoutes(context: HttpContext): Router {
  const router = Router();
  router.post(
    "/sequence-blocks",
    route(context, "lease-sequence", (req) => leaseBlock(context, req)),
  );
  router.get(
    "/stripe-state",
    route(context, "get-stripe-state", (req) => getState(context, req)),
  );
  router.put(
    "/stripe-state",
    route(context, "set-stripe-state", (req) => putState(context, req)),
  );
  router.get(
    "/stats",
    route(context, "stats", (req) => stats(context, req)),
  );
  return router;
}

async function leaseBlock(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const { size } = bodyOf(req, wireSequenceRequestSchema);
  const { writer } = context.database;
  return ok(valueOf(await writer.run(deadline, {}, (tx) => leaseSequenceBlock(tx, "orders", size))));
}

async function getState(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const read = await context.database.reader.source(deadline, (db) => readFence(db, [], "NONE"));
  return ok(stripeStateView(read.fence), readHeaders(read));
}

async function putState(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const state = bodyOf(req, wireStripeStateSchema);
  const { writer } = context.database;
  return ok(valueOf(await writer.run(deadline, { lock: "UPDATE" }, (tx) => setStripeState(tx, state))));
}

async function stats(context: HttpContext, req: Request): Promise<Answer> {
  const deadline = deadlineOf(req, context);
  const { stripe } = context.config;
  const prefix = NUMBER_VERSION + String(stripe).padStart(4, "0");
  const read = await context.database.reader.source(deadline, (db) => readStats(db, prefix));
  const [row] = read.rows;
  if (row === undefined) throw new Error("no figures were read");
  const body: WireStats = {
    place: row.place,
    role: row.role,
    home_buckets: row.home_buckets,
    handoffs: { PENDING: row.pending, CLAIMED: row.claimed, DONE: row.done },
    creates_last_minute: createsLastMinute(row),
    oldest_order_time: row.oldest === null ? null : fromDbTime(row.oldest),
    newest_order_time: row.newest === null ? null : fromDbTime(row.newest),
    stripe_state: stripeStateView(read.fence),
  };
  return ok(body, readHeaders(read));
}

/**
 * Beyond what is counted: as many as there would be if the whole minute were as that part of it, which is twice as long as its
 * orders are old on average. The mean, as one order with a time of its own (clocks differ) must not decide.
 */
function createsLastMinute({ recent, recent_mean_age_us: ageUs }: StatsRow): number {
  if (recent < COUNTED_MAX || ageUs === null) return recent;
  return Math.round(recent * Math.max(1, MINUTE_US / Math.max(PART_MIN_US, 2 * ageUs)));
}
