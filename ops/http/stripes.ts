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
import type { MergedVerdict } from "../../core/verdicts.ts";
import { changePartition } from "../change-partition.ts";
import { type Change, updateStripe } from "../db/update-stripe.ts";
import { agrees, type Reconciler, wantedState } from "../reconciler.ts";
import { sharesOf } from "../shares.ts";
import type { StripeClient } from "../stripe-client.ts";
import type { Verdicts } from "../verdicts.ts";
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

interface Seen {
  readonly facts: WireStats | null;
  readonly triple: object | null;
  readonly verdict: MergedVerdict | undefined;
}

function view(row: StripeRow & { readonly buckets: number }, { facts, triple, verdict }: Seen): object {
  return {
    ...row,
    reachable: facts !== null,
    /** Whether the stripe's own database already says what the table wants; null = it did not answer. */
    applied: facts === null ? null : agrees(facts.stripe_state, wantedState(row, 0)),
    /** What the health checkers say together; null = none of them knows the stripe, or none was asked. */
    health: verdict === undefined ? null : healthView(verdict),
    facts,
    triple,
  };
}

function healthView({ verdict, since, latencyMs, checkers }: MergedVerdict): object {
  return { verdict, since, latency_ms: latencyMs, checkers };
}

/** One stripe of the table. @throws DomainError STRIPE_NOT_EXIST */
export async function oneStripe(control: Knex, stripe: number): Promise<StripeRow & { buckets: number }> {
  const [row] = await listStripes(control, stripe);
  if (row === undefined) throw new DomainError("STRIPE_NOT_EXIST", `there is no stripe ${stripe}`);
  return row;
}

export interface StripeRoutesDeps {
  readonly control: Knex;
  readonly stripes: StripeClient;
  readonly reconciler: Reconciler;
  readonly verdicts: Verdicts;
}

/** `GET /stripes`, `GET /stripes/{stripe}`, `PATCH /stripes/{stripe}`. */
export function stripeRoutes(deps: StripeRoutesDeps): Router {
  const { control, stripes, reconciler, verdicts } = deps;
  const router = Router();
  type Words = Promise<ReadonlyMap<number, MergedVerdict>>;
  const look = async (row: StripeRow, words: Words, stats = stripes.stats(row)): Promise<Seen> => {
    const [facts, triple, all] = await Promise.all([stats, readTriple(control, row.tripleId), words]);
    return { facts, triple, verdict: all.get(row.stripe) };
  };
  router.get("/stripes", async (_req, res) => {
    const rows = await listStripes(control);
    const words = verdicts.current();
    const seen = await Promise.all(rows.map((row) => look(row, words)));
    const inputs = rows.map((row, i) => ({ ...row, createsLastMinute: seen[i]?.facts?.creates_last_minute ?? null }));
    const shares = sharesOf(inputs);
    const views = rows.map((row, i) => ({ ...view(row, seen[i] as Seen), share: shares.get(row.stripe) }));
    res.json({ stripes: views });
  });
  router.get("/stripes/:stripe", async (req, res) => {
    const row = await oneStripe(control, stripeParam(req));
    res.setHeader("ETag", `"${row.version}"`);
    res.json(view(row, await look(row, verdicts.current())));
  });
  router.patch("/stripes/:stripe", rawBody, async (req, res) => {
    const stripe = stripeParam(req);
    const patch = readJson(req, stripePatchSchema);
    const change = { actor: actorOf(req), requestId: requestIdFrom(res), expectedVersion: expectedVersion(req) };
    const row = await changeStripe(deps, stripe, patch, change);
    const facts = reconciler.apply(row);
    res.setHeader("ETag", `"${row.version}"`);
    const seen = await look(row, verdicts.current(), facts);
    res.json(view({ ...row, buckets: (await oneStripe(control, stripe)).buckets }, seen));
  });
  return router;
}

async function changeStripe(
  deps: StripeRoutesDeps,
  stripe: number,
  patch: z.infer<typeof stripePatchSchema>,
  change: Change,
): Promise<StripeRow> {
  const { partition } = patch;
  const row = await oneStripe(deps.control, stripe);
  const moves = partition !== undefined && partition !== row.partition && row.version === change.expectedVersion;
  if (moves) return changePartition(deps, row, { ...patch, partition }, change);
  return updateStripe(deps.control, stripe, patch, change);
}
