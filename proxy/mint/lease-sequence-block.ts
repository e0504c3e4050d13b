import { INTERNAL_BASE, wireSequenceBlockSchema, type WireSequenceBlock } from "../../core/schemas/wire.ts";
import type { StripeClient } from "../upstream/stripe-client.ts";

/** Leases a block from the stripe's own database. @returns null when the stripe does not give one in time */
export async function leaseSequenceBlock(
  client: StripeClient,
  size: number,
  budgetMs: number,
  routingVersion: number,
): Promise<WireSequenceBlock | null> {
  const request = {
    method: "POST",
    path: `${INTERNAL_BASE}/sequence-blocks`,
    body: JSON.stringify({ size }),
  } as const;
  const options = { budgetMs, tryTimeoutMs: budgetMs, headers: {}, routingVersion, uncounted: true };
  const outcome = await client.call(request, options);
  if (outcome.kind !== "answer" || outcome.status < 200 || outcome.status > 299) return null;
  try {
    return wireSequenceBlockSchema.parse(JSON.parse(outcome.body.toString("utf8")));
  } catch {
    return null;
  }
}
