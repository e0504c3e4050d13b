/** The middle one; of an even number the lower of the two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

export interface Plan {
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
}

export const FULL: Plan = { seconds: 6, warmUpSeconds: 4, rounds: 3 };
export const QUICK: Plan = { seconds: 2, warmUpSeconds: 2, rounds: 3 };

export type Say = (line: string) => void;

/** What one part of the bench found. */
export interface Part {
  readonly ratios: Readonly<Record<string, number>>;
  /** Figures with a target of their own. */
  readonly figures: Readonly<Record<string, number>>;
  /** Everything, by round. */
  readonly details: unknown;
}

/** A part that had clusters of its own. */
export interface Measured {
  readonly part: Part;
  /** The most that others used of the processor meanwhile, cores. */
  readonly otherCores: number;
}

/** Appends many: a spread has as many arguments as the stack has room for. */
export function addAll<T>(to: T[], more: readonly T[]): void {
  for (const one of more) to.push(one);
}

/** What a run leaves behind. */
export interface Result {
  /** Of the last run. */
  readonly time: string;
  readonly machine: { readonly cores: number; readonly model: string; readonly memory_mb: number };
  readonly plan: Plan;
  readonly other_cores_max: number;
  readonly ratios: Readonly<Record<string, number>>;
  readonly figures: Readonly<Record<string, number>>;
  readonly parts: Readonly<Record<string, unknown>>;
}
