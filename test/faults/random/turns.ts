// "Two servers never acknowledge in overlapping time", read off acknowledged writes alone. Each carries the name of the
// server that took it. A write is after another when it was sent after the other's answer; the longest row of writes,
// each after the one before and on another server than it, counts how often the servers certainly took turns.

export interface ServedWrite {
  readonly server: string;
  readonly beganMs: number;
  readonly endedMs: number;
}

/** How often the acknowledging server certainly changed. */
export function turnsTaken(writes: readonly ServedWrite[]): number {
  const byBegin = writes.toSorted((a, b) => a.beganMs - b.beganMs);
  const byEnd = writes.toSorted((a, b) => a.endedMs - b.endedMs);
  /** Longest row that ends on a server, over writes answered so far. */
  const best = new Map<string, number>();
  const rowOf = new Map<ServedWrite, number>();
  let answered = 0;
  let longest = 0;
  for (const write of byBegin) {
    for (let next = byEnd[answered]; next !== undefined && next.endedMs < write.beganMs; next = byEnd[answered]) {
      best.set(next.server, Math.max(best.get(next.server) ?? 0, rowOf.get(next) ?? 0));
      answered += 1;
    }
    let row = 1;
    for (const [server, length] of best) if (server !== write.server) row = Math.max(row, length + 1);
    row = Math.max(row, best.get(write.server) ?? 0);
    rowOf.set(write, row);
    longest = Math.max(longest, row);
  }
  return Math.max(0, longest - 1);
}
