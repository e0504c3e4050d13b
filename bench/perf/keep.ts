// Keeps what was measured as this machine's result of the day. Parts that were measured in several runs are put
// together; the picture is drawn from the whole.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { relative, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Result } from "./figures.ts";
import { pictureOf } from "./picture.ts";
import { meets, TARGETS } from "./targets.ts";

/** Others' use of the processor from which on the figures are not to be trusted, cores. */
export const OTHER_CORES_MAX = 0.5;

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RESULTS = join(ROOT, "bench/results");
const PICTURE = join(ROOT, "docs/performance.svg");
const PAGE = join(ROOT, "docs/performance.md");
/** What stands between them on the page is written here. */
const MARKS = ["<!-- figures, written by bench -->", "<!-- end of figures -->"] as const;

/** @returns the file's path in the project */
export async function keepResult(result: Result): Promise<string> {
  await mkdir(RESULTS, { recursive: true });
  const { cores, model } = result.machine;
  const name = `${result.time.slice(0, 10)}-${cores}-cores-${model}`.toLowerCase().replaceAll(/[^0-9a-z]+/g, "-");
  const file = join(RESULTS, `${name.replace(/-$/, "")}.json`);
  const before = await readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Result,
    () => undefined,
  );
  const whole = before === undefined ? result : together(before, result);
  await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`);
  await writeFile(PICTURE, pictureOf(whole));
  await writePage(whole, relative(ROOT, file));
  return relative(ROOT, file);
}

async function writePage(result: Result, file: string): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const [from, to] = MARKS.map((mark) => page.indexOf(mark)) as [number, number];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has not the marks ${MARKS.join(" and ")}`);
  await writeFile(PAGE, page.slice(0, from + MARKS[0].length) + tableOf(result, file) + page.slice(to));
}

function tableOf({ machine, other_cores_max: others, ratios, figures }: Result, file: string): string {
  const values: Readonly<Record<string, number>> = { ...ratios, ...figures };
  const rows = TARGETS.filter(({ name }) => values[name] !== undefined).map((target) => {
    const value = values[target.name] ?? Number.NaN;
    const sign = target.bound === "least" ? "≥" : "≤";
    return `| ${target.says} | ${value} | ${sign} ${target.must} | ${sign} ${target.aim} | ${meets(target, value) ? "yes" : "**no**"} |`;
  });
  return `

${machine.cores} cores of ${machine.model}, ${Math.round(machine.memory_mb / 1024)} GiB. ${othersOf(others)} Everything, round by round:
[the JSON](../${file}).

| what | measured | must | aim | reached |
|---|---|---|---|---|
${rows.join("\n")}

`;
}

function together(before: Result, now: Result): Result {
  return {
    ...now,
    other_cores_max: Math.max(before.other_cores_max, now.other_cores_max),
    ratios: { ...before.ratios, ...now.ratios },
    figures: { ...before.figures, ...now.figures },
    parts: { ...before.parts, ...now.parts },
  };
}

function othersOf(cores: number): string {
  if (cores <= OTHER_CORES_MAX) return `Other programs used at most ${cores} cores.`;
  return `**Other programs used up to ${cores} cores meanwhile, so do not trust these figures**; the bench ended with code 2.`;
}
