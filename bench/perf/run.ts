import { cpus, totalmem } from "node:os";
import { writeFile } from "node:fs/promises";
import { wallNowIso } from "../../runtime/clock.ts";
import { addAll, FULL, type Measured, type Part, type Plan, QUICK, type Result, type Say } from "./figures.ts";
import { keepResult, OTHER_CORES_MAX } from "./keep.ts";
import { measureCreates } from "./measures/create.ts";
import { measureCurve } from "./measures/curve.ts";
import { measureEdge } from "./measures/edge.ts";
import { measureGrowth } from "./measures/growth.ts";
import { measureMixed } from "./measures/mixed.ts";
import { measurePays } from "./measures/pay.ts";
import { measureQueries } from "./measures/query.ts";
import { measureRebuild } from "./measures/rebuild.ts";
import { measureSoak } from "./measures/soak.ts";
import { measureStripes } from "./measures/scale.ts";
import { Rig } from "./rig.ts";
import { meets, TARGETS } from "./targets.ts";

/** On one stripe, one after the other on one cluster. */
const ON_ONE = ["create", "curve", "edge", "query", "pay", "mixed"] as const;
/** Each on clusters of its own. */
const ALONE = ["scale", "rebuild", "soak", "growth"] as const;
export const WHATS = [...ON_ONE, ...ALONE, "all"] as const;
export type What = (typeof WHATS)[number];

const FEW_ORDERS_MS = 4_000;

export interface BenchOptions {
  readonly what: What;
  readonly quick: boolean;
  readonly json: string | undefined;
  /** Keep the figures as this machine's result of the day, and draw the picture. */
  readonly keep: boolean;
  /** Orders of the grown stripe. */
  readonly orders: number;
  readonly soakSeconds: number;
}

/** Runs a part of the bench, or all of it. @returns the exit code: 1 a target was missed, 2 others used the processor */
export async function bench(options: BenchOptions): Promise<number> {
  const { what, quick, json, keep } = options;
  const say: Say = (line) => void process.stdout.write(`${line}\n`);
  const plan = quick ? QUICK : FULL;
  const parts: Record<string, Part> = {};
  const wanted = (one: What): boolean => what === one || what === "all";
  let otherCores = 0;
  if (ON_ONE.some(wanted)) otherCores = await onOneStripe(wanted, plan, say, parts);
  for (const one of ALONE.filter(wanted)) {
    const measured = await alone(one, plan, say, options);
    parts[one] = measured.part;
    otherCores = Math.max(otherCores, measured.otherCores);
  }
  const result = resultOf(parts, plan, otherCores);
  const missed = report({ ...result.ratios, ...result.figures }, say);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(flat(result), null, 2)}\n`);
  if (keep) say(`kept in ${await keepResult(result)}`);
  if (otherCores > OTHER_CORES_MAX) {
    say(`WARNING: other programs used up to ${otherCores.toFixed(2)} cores meanwhile; do not trust these figures`);
    return 2;
  }
  return missed > 0 ? 1 : 0;
}

function resultOf(parts: Readonly<Record<string, Part>>, plan: Plan, otherCores: number): Result {
  const merged = (of: (part: Part) => Readonly<Record<string, number>>): Record<string, number> =>
    Object.assign({}, ...Object.values(parts).map(of)) as Record<string, number>;
  return {
    time: wallNowIso(),
    machine: { cores: cpus().length, model: cpus()[0]?.model ?? "", memory_mb: Math.round(totalmem() / 2 ** 20) },
    plan,
    other_cores_max: Number(otherCores.toFixed(2)),
    ratios: merged(({ ratios }) => ratios),
    figures: merged(({ figures }) => figures),
    parts: Object.fromEntries(Object.entries(parts).map(([name, { details }]) => [name, details])),
  };
}

/** The figures with a target of their own stand beside the ratios. */
function flat({ figures, parts, ...rest }: Result): Record<string, unknown> {
  return { ...rest, ...figures, parts };
}

async function alone(one: (typeof ALONE)[number], plan: Plan, say: Say, options: BenchOptions): Promise<Measured> {
  switch (one) {
    case "scale":
      return measureStripes(plan, say);
    case "rebuild":
      return measureRebuild(plan, say);
    case "soak":
      return measureSoak(options.soakSeconds, say);
    case "growth":
      return measureGrowth(plan, say, options.orders);
  }
}

/** @returns the most that others used of the processor, cores */
async function onOneStripe(
  wanted: (one: What) => boolean,
  plan: Plan,
  say: Say,
  parts: Record<string, Part>,
): Promise<number> {
  await using rig = await Rig.start({ stripes: 1, tell: say });
  const stock: string[] = [];
  if (wanted("create")) {
    const { part, ids } = await measureCreates(rig, plan, say);
    parts.create = part;
    addAll(stock, ids);
  } else addAll(stock, (await rig.run({ kind: "create", connections: 128, ms: FEW_ORDERS_MS })).ids);
  if (wanted("curve")) parts.curve = await measureCurve(rig, plan, say);
  if (wanted("edge")) parts.edge = await measureEdge(rig, plan, say);
  if (wanted("query")) parts.query = await measureQueries(rig, plan, say, stock);
  if (wanted("pay")) parts.pay = await measurePays(rig, plan, say, stock);
  if (wanted("mixed")) parts.mixed = await measureMixed(rig, plan, say, stock);
  return rig.otherCoresMax;
}

/** Tells what was found against what is wanted. @returns how many figures miss what they must reach */
function report(values: Readonly<Record<string, number>>, say: Say): number {
  let missed = 0;
  for (const target of TARGETS) {
    const value = values[target.name];
    if (value === undefined) continue;
    const good = meets(target, value);
    if (!good) missed += 1;
    const sign = target.bound === "least" ? "≥" : "≤";
    say(`${good ? "ok  " : "MISS"} ${target.says}: ${value} (must ${sign} ${target.must}, aim ${target.aim})`);
  }
  return missed;
}
