// GET /servers of a health checker: what its failover controller sees of each MySQL server, for the ops API.
import { z } from "zod";
import { roleSchema } from "../agent-wire.ts";

export const SERVERS_PATH = "/servers";

const bytes = z.number().min(0).nullable();

export const wireServerSchema = z.object({
  server: z.string(),
  role: roleSchema.nullable(),
  /** VOID: its data must be replaced before it counts. */
  data: z.enum(["VALID", "VOID"]).nullable(),
  /** Age of the newest beat of the source that is applied here; null = unknown. */
  lag_ms: z.number().nullable(),
  /** Of the disk below the data directory. */
  free_bytes: bytes,
  total_bytes: bytes,
  /** Why the agent or its mysqld does not answer, or replication has stopped; null when nothing is known to be wrong. */
  fault: z.string().nullable(),
  /** Since the agent's last answer; null = it never answered this checker. */
  answered_ago_ms: z.number().nullable(),
});
export type WireServer = z.infer<typeof wireServerSchema>;

export const wireServersSchema = z.object({
  triples: z.array(z.object({ triple_id: z.string(), leads: z.boolean(), servers: z.array(wireServerSchema) })),
});
export type WireServers = z.infer<typeof wireServersSchema>;

/**
 * What to show of each triple when several checkers answer: the words of the one that leads it, as it alone looks all the
 * time; without one those of the checker that saw any of its servers last.
 */
export function mergeServers(reports: readonly WireServers[]): Map<string, readonly WireServer[]> {
  const best = new Map<string, { readonly ageMs: number; readonly servers: readonly WireServer[] }>();
  for (const { triple_id: id, leads, servers } of reports.flatMap(({ triples }) => triples)) {
    const ageMs = leads ? -1 : Math.min(...servers.map((s) => s.answered_ago_ms ?? Infinity));
    if (ageMs < (best.get(id)?.ageMs ?? Infinity)) best.set(id, { ageMs, servers });
  }
  return new Map([...best].map(([id, { servers }]) => [id, servers]));
}
