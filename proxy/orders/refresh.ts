import type { ProxyContext } from "../context.ts";

/**
 * Brings the routing table up to date after a 421.
 * @param version what the service knows; a question that was already under way may have missed it
 */
export async function refreshPast(ctx: ProxyContext, version: number | undefined): Promise<void> {
  let answered = await ctx.tables.refresh();
  if (answered && version !== undefined && (ctx.tables.current?.version ?? 0) < version) {
    answered = await ctx.tables.refresh();
  }
  ctx.metrics.refreshes.inc({ result: answered ? "answered" : "failed" });
}
