import { type Request, Router } from "express";
import type { Knex } from "knex";
import { z } from "zod";
import { DomainError, paramError } from "../../core/errors.ts";
import { partitionNameSchema, TEMPERATURES, weightSchema } from "../../core/routing-table.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import type { WireStats } from "../../core/schemas/wire.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { listStripes } from "../db/list-stripes.ts";
import { readTriple } from "../db/read-triple.ts";
import { updateStripe } from "../db/update-stripe.ts";
import { type Reconciler, wantedState } from "../reconciler.ts";
import type { StripeClient } from "../stripe-client.ts";
import { rawBody, readJson } from "./read-json.ts";

export const stripePatchSchema = z
  .strictObject({
    temperature: z.enum(TEMPERATURES).optional(),
    blocked: z.boolean().optional(),
    weight: weightSchema.optional(),
    partition: partitionNameSchema.optional(),
  })
  .refine(
    (patch) => Object.keys(patch).length > 0,
    "nothing to change: give temperature, blocked, weight or partition",
  );

const ETAG = /^"(\d{1,15})"$/;
const ACTOR = /^[\x20-\x7e]{1,64}$/;

/** The stripe number in the path. @throws DomainError PARAM_ERROR */
export function stripeParam(req: Request): number {
  const text = String(req.params.stripe);
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw paramError("stripe", "a stripe number is 1…9999");
  return Number(text);
}

function expectedVersion(req: Request): number {
  const header = req.headers["if-match"];
  if (header === undefined) {
    throw new DomainError("PRECONDITION_REQUIRED", "send If-Match with the ETag of the stripe's GET");
  }
  const version = ETAG.exec(header)?.[1];
  if (version === undefined) throw paramError("If-Match", 'must be one ETag such as "7"');
  return Number(version);
}

/** Who asks, as told by the `Ops-Actor` header; the API is reachable from this machine only until it authenticates. */
export function actorOf(req: Request): string {
  const actor = req.headers["ops-actor"];
  if (actor === undefined) return "anonymous";
  if (typeof actor !== "string" || !ACTOR.test(actor)) throw paramError("Ops-Actor", "1…64 printable ASCII characters");
  return actor;
}

function view(row: StripeRow & { buckets?: number }, stats: WireStats | null, triple: object | null): object {
  const wanted = wantedState(row, 0);
  return {
    ...row,
    reachable: stats !== null,
    /** Whether the stripe's own database already says what the table wants; null = it did not answer. */
    applied: stats === null ? null : stats.stripe_state.accepts_creates === wanted.accepts_creates,
    facts: stats,
    triple,
  };
}

/** One stripe of the table. @throws DomainError STRIPE_NOT_EXIST */
export async function oneStripe(control: Knex, stripe: number): Promise<StripeRow & { buckets: number }> {
  const [row] = await listStripes(control, stripe);
  if (row === undefined) throw new DomainError("STRIPE_NOT_EXIST", `there is no stripe ${stripe}`);
  return row;
}

/** `GET /stripes`, `GET /stripes/{stripe}`, `PATCH /stripes/{stripe}`. */
export function stripeRoutes(control: Knex, stripes: StripeClient, reconciler: Reconciler): Router {
  const router = Router();
  const full = async (row: StripeRow): Promise<object> => {
    const [facts, triple] = await Promise.all([stripes.stats(row), readTriple(control, row.tripleId)]);
    return view(row, facts, triple);
  };
  router.get("/stripes", async (_req, res) => {
    const rows = await listStripes(control);
    res.json({ stripes: await Promise.all(rows.map(full)) });
  });
  router.get("/stripes/:stripe", async (req, res) => {
    const row = await oneStripe(control, stripeParam(req));
    res.setHeader("ETag", `"${row.version}"`);
    res.json(await full(row));
  });
  router.patch("/stripes/:stripe", rawBody, async (req, res) => {
    const stripe = stripeParam(req);
    const patch = readJson(req, stripePatchSchema);
    const change = { actor: actorOf(req), requestId: requestIdFrom(res), expectedVersion: expectedVersion(req) };
    const row = await updateStripe(control, stripe, patch, change);
    const facts = await reconciler.apply(row);
    res.setHeader("ETag", `"${row.version}"`);
    const { buckets } = await oneStripe(control, stripe);
    res.json(view({ ...row, buckets }, facts, await readTriple(control, row.tripleId)));
  });
  return router;
}
