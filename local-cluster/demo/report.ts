import type { StoredOrder } from "./db/stripe-facts.ts";
import type { Played } from "./player.ts";

export interface StripeReport {
  readonly stripe: number;
  readonly orders: number;
  readonly byState: Readonly<Record<string, number>>;
  /** Orders that were placed here because another stripe would not take them. */
  readonly jumpsIn: number;
  /** Share of all acknowledged creates, 0…1. */
  readonly share: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The value below which a share `q` of the sorted list lies; 0 for an empty list. */
export function percentile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** The stripe that an order number names. */
export function stripeOf(transactionId: string): number {
  return Number(transactionId.slice(2, 6));
}

export function reportStripe(stripe: number, day: readonly Played[], stored: readonly StoredOrder[]): StripeReport {
  const here = day.filter((p) => stripeOf(p.created.transaction_id) === stripe);
  const rows = stored.filter((o) => stripeOf(o.transactionId) === stripe);
  const times = here.map((p) => p.createMs).sort((a, b) => a - b);
  const byState: Record<string, number> = {};
  for (const row of rows) {
    const label = row.closeReason === null ? row.state : `${row.state}/${row.closeReason}`;
    byState[label] = (byState[label] ?? 0) + 1;
  }
  return {
    stripe,
    orders: rows.length,
    byState,
    jumpsIn: rows.filter((o) => o.jumped).length,
    share: day.length === 0 ? 0 : here.length / day.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}

/** The stripes' reports as text for a terminal. */
export function formatReports(reports: readonly StripeReport[]): string {
  return reports
    .map((r) => {
      const states = Object.entries(r.byState)
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([state, n]) => `${state} ${n}`)
        .join(", ");
      const share = (100 * r.share).toFixed(1);
      const times = `p50 ${r.p50Ms.toFixed(1)} ms, p99 ${r.p99Ms.toFixed(1)} ms`;
      return `  stripe ${r.stripe}: ${r.orders} orders (${states}); ${share} % of creates, ${r.jumpsIn} jumped in; creates ${times}`;
    })
    .join("\n");
}
