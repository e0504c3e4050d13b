// The figures as a picture: one bar for each target, as a multiple of what it must be, the longer the better.
import { meets, TARGETS } from "./targets.ts";

const WIDTH = 860;
const ROW = 34;
const LEFT = 340;
const SPAN = 380;
const TIMES_MAX = 4;
const GOOD = "#2f7d4f";
const BAD = "#b3452c";

export function pictureOf(values: Readonly<Record<string, number>>): string {
  const shown = TARGETS.filter(({ name }) => values[name] !== undefined);
  const height = 70 + shown.length * ROW;
  const rows = shown.map((target, i) => {
    const value = values[target.name] ?? 0;
    const times = Math.min(TIMES_MAX, target.bound === "least" ? value / target.must : target.must / value);
    const y = 50 + i * ROW;
    const sign = target.bound === "least" ? "≥" : "≤";
    return [
      `<text x="${LEFT - 10}" y="${y + 15}" text-anchor="end">${target.says}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${((SPAN * times) / TIMES_MAX).toFixed(1)}" height="20" rx="3" fill="${meets(target, value) ? GOOD : BAD}"/>`,
      `<text x="${LEFT + SPAN + 10}" y="${y + 15}">${value} (${sign} ${target.must})</text>`,
    ].join("\n");
  });
  const must = LEFT + SPAN / TIMES_MAX;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="${LEFT - 10}" y="28" text-anchor="end" font-weight="bold">what was measured</text>
<text x="${LEFT + SPAN + 10}" y="28" font-weight="bold">value (must)</text>
${rows.join("\n")}
<line x1="${must}" y1="36" x2="${must}" y2="${height - 14}" stroke="#333333" stroke-dasharray="4 3"/>
<text x="${must}" y="30" text-anchor="middle">must</text>
</svg>
`;
}
