// Algebra of GTID sets as MySQL writes them: `uuid:1-5:7,uuid:tag:1-3`. Decisions compare sets that were read at
// different servers, so they are compared here and not by whichever server happens to answer.

/** Intervals, ascending, disjoint and not adjacent; both ends included. */
type Intervals = readonly (readonly [number, number])[];

/** Intervals by `uuid` or `uuid:tag`. */
export type GtidSet = ReadonlyMap<string, Intervals>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TAG = /^[a-z_][a-z0-9_]{0,31}$/;
const INTERVAL = /^([0-9]+)(?:-([0-9]+))?$/;

/** Between two looks most sets are as they were, and each look compares them several times. */
const REMEMBERED_MAX = 64;
const remembered = new Map<string, GtidSet>();

/** @throws RangeError when `text` is not a GTID set */
export function parseGtidSet(text: string): GtidSet {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const set = parse(text);
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(text, set);
  return set;
}

function parse(text: string): GtidSet {
  const found = new Map<string, (readonly [number, number])[]>();
  for (const part of text.split(",")) {
    const [uuid = "", ...rest] = part.trim().toLowerCase().split(":");
    if (uuid === "") continue;
    if (!UUID.test(uuid)) throw new RangeError(`not a GTID set: ${JSON.stringify(text.slice(0, 200))}`);
    let key = uuid;
    for (const piece of rest) {
      const interval = parseInterval(piece.trim());
      if (interval === null && !TAG.test(piece.trim())) throw new RangeError(`not a GTID set: ${text.slice(0, 200)}`);
      if (interval === null) key = `${uuid}:${piece.trim()}`;
      else found.set(key, [...(found.get(key) ?? []), interval]);
    }
  }
  return new Map([...found].map(([key, intervals]) => [key, normalise(intervals)]));
}

function parseInterval(piece: string): readonly [number, number] | null {
  const match = INTERVAL.exec(piece);
  if (match === null) return null;
  const from = Number(match[1]);
  const to = match[2] === undefined ? from : Number(match[2]);
  if (!Number.isSafeInteger(to) || from < 1 || to < from) throw new RangeError(`not a GTID interval: ${piece}`);
  return [from, to];
}

function normalise(intervals: readonly (readonly [number, number])[]): Intervals {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function formatGtidSet(set: GtidSet): string {
  const one = ([from, to]: readonly [number, number]): string => (from === to ? `${from}` : `${from}-${to}`);
  return [...set]
    .filter(([, intervals]) => intervals.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, intervals]) => `${key}:${intervals.map(one).join(":")}`)
    .join(",");
}

export function unionOf(...sets: readonly GtidSet[]): GtidSet {
  const all = new Map<string, Intervals>();
  for (const set of sets) {
    for (const [key, intervals] of set) all.set(key, normalise([...(all.get(key) ?? []), ...intervals]));
  }
  return all;
}

/** What is in `a` and not in `b`. */
export function subtract(a: GtidSet, b: GtidSet): GtidSet {
  const left = new Map<string, Intervals>();
  for (const [key, intervals] of a) {
    const rest = subtractIntervals(intervals, b.get(key) ?? []);
    if (rest.length > 0) left.set(key, rest);
  }
  return left;
}

function subtractIntervals(intervals: Intervals, minus: Intervals): Intervals {
  const rest: (readonly [number, number])[] = [];
  for (const [from, to] of intervals) {
    let start = from;
    for (const [cutFrom, cutTo] of minus) {
      if (cutTo < start || cutFrom > to) continue;
      if (cutFrom > start) rest.push([start, cutFrom - 1]);
      start = cutTo + 1;
    }
    if (start <= to) rest.push([start, to]);
  }
  return rest;
}

export function isEmpty(set: GtidSet): boolean {
  return [...set.values()].every((intervals) => intervals.length === 0);
}

export function isSubset(a: GtidSet, b: GtidSet): boolean {
  return isEmpty(subtract(a, b));
}

/** Number of transactions in the set. */
export function countOf(set: GtidSet): number {
  let count = 0;
  for (const intervals of set.values()) for (const [from, to] of intervals) count += to - from + 1;
  return count;
}

/** The part of a set whose transactions were not begun on the server `uuid`. */
export function withoutUuid(set: GtidSet, uuid: string): GtidSet {
  return new Map([...set].filter(([key]) => key.split(":", 1)[0] !== uuid));
}
