// Keeps what was measured as this machine's result of the day. Parts that were measured in several runs are put
// together; the picture is drawn from the whole.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { relative, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Result } from "./figures.ts";
import { pictureOf } from "./picture.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RESULTS = join(ROOT, "bench/results");
const PICTURE = join(ROOT, "docs/performance.svg");

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
  return relative(ROOT, file);
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
