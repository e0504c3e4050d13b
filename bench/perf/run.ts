import { mkdir, writeFile } from "node:fs/promises";
import { cpus, hostname, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wallNowIso } from "../../runtime/clock.ts";
import { addAll, FULL, type Part, type Plan, QUICK, type Say } from "./figures.ts";
import { measureCreates } from "./measures/create.ts";
import { measureMixed } from "./measures/mixed.ts";
import { measurePays } from "./measures/pay.ts";
import { measureQueries } from "./measures/query.ts";
import { measureStripes } from "./measures/scale.ts";
import { pictureOf } from "./picture.ts";
import { Rig } from "./rig.ts";
import { meets, TARGETS } from "./targets.ts";

export const WHATS = ["create", "pay", "mixed", "query", "scale", "all"] as const;
export type What = (typeof WHATS)[number];

/** Others' use of the processor from which on the figures are not to be trusted, cores. */
const OTHER_CORES_MAX = 0.5;
const RESULTS = fileURLToPath(new URL("../results/", import.meta.url));
const PICTURE = fileURLToPath(new URL("../../docs/performance.svg", import.meta.url));
const FEW_ORDERS_MS = 4_000;

export interface BenchOptions {
  readonly what: What;
  readonly quick: boolean;
  readonly json: string | undefined;
  /** Keep the figures as this machine's result, and draw the picture. */
  readonly keep: boolean;
}

/** Runs a part of the bench, or all of it. @returns the exit code */
export async function bench({ what, quick, json, keep }: BenchOptions): Promise<number> {
  const say: Say = (line) => void process.stdout.write(`${line}\n`);
  const plan = quick ? QUICK : FULL;
  const parts: Record<string, Part> = {};
  let otherCores = 0;
  if (what !== "scale") otherCores = await onOneStripe(what, plan, say, parts);
  if (what === "scale" || what === "all") {
    const { part, otherCores: others } = await measureStripes(plan, say);
    parts.scale = part;
    otherCores = Math.max(otherCores, others);
  }
  const result = {
    time: wallNowIso(),
    machine: {
      host: hostname(),
      cores: cpus().length,
      model: cpus()[0]?.model,
      memory_mb: Math.round(totalmem() / 2 ** 20),
    },
    plan,
    other_cores_max: Number(otherCores.toFixed(2)),
    ratios: Object.assign({}, ...Object.values(parts).map(({ ratios }) => ratios)) as Record<string, number>,
    ...(Object.assign({}, ...Object.values(parts).map(({ figures }) => figures)) as Record<string, number>),
    parts: Object.fromEntries(Object.entries(parts).map(([name, { details }]) => [name, details])),
  };
  const values: Readonly<Record<string, number>> = { ...result.ratios, ...figuresOf(parts) };
  const missed = report(values, say);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
  if (keep) await keepResult(result, values);
  if (otherCores > OTHER_CORES_MAX) {
    say(`WARNING: other programs used up to ${otherCores.toFixed(2)} cores meanwhile; do not trust these figures`);
    return 2;
  }
  return missed > 0 ? 1 : 0;
}

function figuresOf(parts: Readonly<Record<string, Part>>): Record<string, number> {
  return Object.assign({}, ...Object.values(parts).map(({ figures }) => figures)) as Record<string, number>;
}

/** @returns the most that others used of the processor, cores */
async function onOneStripe(what: What, plan: Plan, say: Say, parts: Record<string, Part>): Promise<number> {
  await using rig = await Rig.start({ stripes: 1, tell: say });
  const all = what === "all";
  const stock: string[] = [];
  if (all || what === "create") {
    const { part, ids } = await measureCreates(rig, plan, say);
    parts.create = part;
    addAll(stock, ids);
  } else addAll(stock, (await rig.run({ kind: "create", connections: 128, ms: FEW_ORDERS_MS })).ids);
  if (all || what === "query") parts.query = await measureQueries(rig, plan, say, stock);
  if (all || what === "pay") parts.pay = await measurePays(rig, plan, say, stock);
  if (all || what === "mixed") parts.mixed = await measureMixed(rig, plan, say, stock);
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

async function keepResult(
  result: { time: string; machine: { host: string } },
  values: Readonly<Record<string, number>>,
) {
  await mkdir(RESULTS, { recursive: true });
  const name = `${result.time.slice(0, 10)}-${result.machine.host.replaceAll(/[^0-9A-Za-z.-]/g, "_")}.json`;
  await writeFile(join(RESULTS, name), `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(PICTURE, pictureOf(values));
}
