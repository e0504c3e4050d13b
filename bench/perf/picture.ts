// The figures as a picture: one bar for each target, as a multiple of what it must be, the longer the better; and how
// long creates take by how many are in flight.
import type { Result } from "./figures.ts";
import type { CurvePoint } from "./measures/curve.ts";
import { meets, TARGETS } from "./targets.ts";

const WIDTH = 920;
const ROW = 30;
const LEFT = 380;
const SPAN = 360;
const TIMES_MAX = 4;
const GOOD = "#2f7d4f";
const BAD = "#b3452c";
const BARS_TOP = 50;
const PLOT = { left: 80, width: 760, height: 260, gap: 60 } as const;
const LINES = [
  { of: (p: CurvePoint): number => p.p50_ms, colour: "#2b5c9e", says: "p50" },
  { of: (p: CurvePoint): number => p.p99_ms, colour: "#b3452c", says: "p99" },
] as const;

export function pictureOf({ ratios, figures, parts }: Pick<Result, "ratios" | "figures" | "parts">): string {
  const bars = barsOf({ ...ratios, ...figures });
  const { points = [] } = (parts.curve ?? {}) as { readonly points?: readonly CurvePoint[] };
  const curves = curvesOf(points, bars.bottom + PLOT.gap);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${curves.bottom}" font-family="sans-serif" font-size="13">
<rect width="${WIDTH}" height="${curves.bottom}" fill="#ffffff"/>
${bars.svg}
${curves.svg}
</svg>
`;
}

interface Drawn {
  readonly svg: string;
  readonly bottom: number;
}

function barsOf(values: Readonly<Record<string, number>>): Drawn {
  const shown = TARGETS.filter(({ name }) => values[name] !== undefined);
  const rows = shown.map((target, i) => {
    const value = values[target.name] ?? 0;
    const times =
      target.bound === "least" ? value / target.must : target.must / Math.max(value, target.must / TIMES_MAX);
    const width = ((SPAN * Math.min(TIMES_MAX, Math.max(0, times))) / TIMES_MAX).toFixed(1);
    const y = BARS_TOP + i * ROW;
    const sign = target.bound === "least" ? "≥" : "≤";
    return [
      `<text x="${LEFT - 10}" y="${y + 15}" text-anchor="end">${target.says}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${width}" height="20" rx="3" fill="${meets(target, value) ? GOOD : BAD}"/>`,
      `<text x="${LEFT + SPAN + 10}" y="${y + 15}">${value} (${sign} ${target.must})</text>`,
    ].join("\n");
  });
  const must = LEFT + SPAN / TIMES_MAX;
  const bottom = BARS_TOP + shown.length * ROW;
  const head = [
    `<text x="${LEFT - 10}" y="28" text-anchor="end" font-weight="bold">what was measured</text>`,
    `<text x="${LEFT + SPAN + 10}" y="28" font-weight="bold">value (must)</text>`,
    `<text x="${must}" y="30" text-anchor="middle">must</text>`,
    `<line x1="${must}" y1="36" x2="${must}" y2="${bottom}" stroke="#333333" stroke-dasharray="4 3"/>`,
  ];
  return { svg: [...head, ...rows].join("\n"), bottom };
}

/** Both scales are logarithmic: what is in flight across, milliseconds up. */
function curvesOf(points: readonly CurvePoint[], top: number): Drawn {
  if (points.length === 0) return { svg: "", bottom: top };
  const most = Math.max(...points.map(({ in_flight: n }) => n));
  const longest = Math.max(...points.map(({ p99_ms: ms }) => ms), 10);
  const x = (n: number): number => PLOT.left + (Math.log2(n) / Math.log2(most)) * PLOT.width;
  const y = (ms: number): number => top + PLOT.height * (1 - Math.log10(Math.max(1, ms)) / Math.log10(longest));
  const floor = top + PLOT.height;
  const lines = LINES.map(({ of, colour, says }) => {
    const path = points.map((p) => `${x(p.in_flight).toFixed(1)},${y(of(p)).toFixed(1)}`).join(" ");
    const last = points.at(-1) as CurvePoint;
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.map(
        (p) => `<circle cx="${x(p.in_flight).toFixed(1)}" cy="${y(of(p)).toFixed(1)}" r="3" fill="${colour}"/>`,
      ),
      `<text x="${x(last.in_flight) + 8}" y="${y(of(last)) + 4}" fill="${colour}">${says}</text>`,
    ].join("\n");
  });
  const ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500].filter((ms) => ms <= longest);
  const grid = ticks.map(
    (ms) =>
      `<line x1="${PLOT.left}" y1="${y(ms)}" x2="${PLOT.left + PLOT.width}" y2="${y(ms)}" stroke="#dddddd"/>` +
      `<text x="${PLOT.left - 8}" y="${y(ms) + 4}" text-anchor="end">${ms} ms</text>`,
  );
  const feet = points.map(
    (p) =>
      `<text x="${x(p.in_flight)}" y="${floor + 20}" text-anchor="middle">${p.in_flight}</text>` +
      `<text x="${x(p.in_flight)}" y="${floor + 36}" text-anchor="middle" fill="#777777">${p.per_s}/s</text>`,
  );
  const title = `<text x="${PLOT.left}" y="${top - 20}" font-weight="bold">creates: latency by how many are in flight (and how many a second that makes)</text>`;
  return { svg: [title, ...grid, ...lines, ...feet].join("\n"), bottom: floor + 56 };
}
