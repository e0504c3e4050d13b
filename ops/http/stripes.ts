import type { Request, Response } from "express";
import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import type { StripeRow } from "../../core/routing-table.ts";
import { type StripePatch, stripePatchSchema, type StripeView, type TripleView } from "../../core/schemas/ops.ts";
import type { WireServer } from "../../core/schemas/wire-servers.ts";
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
import type { Checkers, CheckersWord } from "../checkers.ts";
import { actorOf, expectedVersion, stripeParam } from "./headers.ts";
import type { OpsRoute } from "./ops-router.ts";
import { readJson } from "./read-json.ts";

interface Seen {
  readonly facts: WireStats | null;
  readonly triple: TripleView | null;
  readonly verdict: MergedVerdict | undefined;
  readonly servers: readonly WireServer[] | undefined;
}

function view(row: StripeRow & { readonly buckets: number }, { facts, triple, verdict, servers }: Seen): StripeView {
  const { tripleId, ...shown } = row;
  return {
    ...shown,
    triple_id: tripleId,
    reachable: facts !== null,
    /** Whether the stripe's own database already says what the table wants; null = it did not answer. */
    applied: facts === null ? null : agrees(facts.stripe_state, wantedState(row, 0)),
    /** What the health checkers say together; null = none of them knows the stripe, or none was asked. */
    health: verdict === undefined ? null : healthView(verdict),
    facts,
    triple,
    /** Source and replicas as the failover controller sees them; null = no checker that looks after them answered. */
    servers: servers === undefined ? null : [...servers],
  };
}

function healthView({ verdict, since, latencyMs, checkers }: MergedVerdict): NonNullable<StripeView["health"]> {
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
  readonly checkers: Checkers;
}

/** `GET /stripes`, `GET /stripes/{stripe}`, `PATCH /stripes/{stripe}`. */
export function stripeRoutes(deps: StripeRoutesDeps): OpsRoute[] {
  return [
    { method: "get", path: "/stripes", handle: (_req, res) => showAll(deps, res) },
    { method: "get", path: "/stripes/:stripe", handle: (req, res) => showOne(deps, req, res) },
    { method: "patch", path: "/stripes/:stripe", handle: (req, res) => patchOne(deps, req, res) },
  ];
}

async function showAll({ control, stripes, checkers }: StripeRoutesDeps, res: Response): Promise<void> {
  const rows = await listStripes(control);
  const words = checkers.ask();
  const seen = await Promise.all(rows.map((row) => look(control, row, words, stripes.stats(row))));
  const inputs = rows.map((row, i) => ({ ...row, createsLastMinute: seen[i]?.facts?.creates_last_minute ?? null }));
  const shares = sharesOf(inputs);
  const views = rows.map((row, i) => ({ ...view(row, seen[i] as Seen), share: shares.get(row.stripe) }));
  res.json({ stripes: views });
}

async function showOne({ control, stripes, checkers }: StripeRoutesDeps, req: Request, res: Response): Promise<void> {
  const row = await oneStripe(control, stripeParam(req));
  res.setHeader("ETag", `"${row.version}"`);
  res.json(view(row, await look(control, row, checkers.ask(), stripes.stats(row))));
}

async function patchOne(deps: StripeRoutesDeps, req: Request, res: Response): Promise<void> {
  const { control, reconciler, checkers, stripes } = deps;
  const stripe = stripeParam(req);
  const patch = await readJson(req, stripePatchSchema);
  const change = { actor: actorOf(req), requestId: requestIdFrom(res), expectedVersion: expectedVersion(req) };
  const row = await changeStripe(deps, stripe, patch, change);
  const facts = reconciler.apply(row).then((answers) => (answers ? stripes.stats(row) : null));
  res.setHeader("ETag", `"${row.version}"`);
  const seen = await look(control, row, checkers.ask(), facts);
  res.json(view({ ...row, buckets: (await oneStripe(control, stripe)).buckets }, seen));
}

async function look(
  control: Knex,
  row: StripeRow,
  words: Promise<CheckersWord>,
  stats: Promise<WireStats | null>,
): Promise<Seen> {
  const [facts, triple, { verdicts, servers }] = await Promise.all([stats, readTriple(control, row.tripleId), words]);
  return { facts, triple, verdict: verdicts.get(row.stripe), servers: servers.get(row.tripleId) };
}

async function changeStripe(
  deps: StripeRoutesDeps,
  stripe: number,
  patch: StripePatch,
  change: Change,
): Promise<StripeRow> {
  const { partition } = patch;
  const row = await oneStripe(deps.control, stripe);
  const moves = partition !== undefined && partition !== row.partition && row.version === change.expectedVersion;
  if (moves) return changePartition(deps, row, { ...patch, partition }, change);
  return updateStripe(deps.control, stripe, patch, change);
}
